//! WIZnet's W5500-EVB-Pico: an RP2040, 2 MiB of flash, and a W5500 for Ethernet on SPI 0. Text goes out on UART 0 (pin GP0, 115 200 baud).
#![no_std]

use core::fmt;

use embassy_net_wiznet::chip::W5500;
use embassy_net_wiznet::{Device, Runner, State};
use embassy_rp::bind_interrupts;
use embassy_rp::clocks::RoscRng;
use embassy_rp::flash::{self, Flash};
use embassy_rp::gpio::{Input, Level, Output, Pull};
use embassy_rp::peripherals::{DMA_CH0, DMA_CH1, FLASH, SPI0};
use embassy_rp::pwm::Pwm;
use embassy_rp::spi::{self, Spi};
use embassy_rp::uart::{self, UartTx};
use embassy_rp::watchdog::{ResetReason, Watchdog};
use embassy_rp::{dma, pwm};
use embassy_time::{Delay, Duration, Timer};
use embedded_hal_bus::spi::ExclusiveDevice;
use ringwatch_app::{flash::Part, port::Port};
use ringwatch_cortex_m::restart;

const FLASH_SIZE: usize = 2 * 1024 * 1024;
const KEPT: u32 = 16 * 1024;
/// How long nothing may happen before the board restarts. Erasing a page takes 0.4 s at most.
const PATIENCE: Duration = Duration::from_secs(8);

/// What is kept through a loss of power is here; `memory.x` leaves it alone.
pub type Kept = Part<Flash<'static, FLASH, flash::Blocking, FLASH_SIZE>>;
type Bus = ExclusiveDevice<Spi<'static, SPI0, spi::Async>, Output<'static>, Delay>;
/// What the Ethernet chip needs run beside the network stack.
pub type Ethernet = Runner<'static, W5500, Bus, Input<'static>, Output<'static>>;

/// Where text goes.
pub static UART: Port<UartTx<'static, uart::Blocking>> = Port::new();

bind_interrupts!(struct Irqs {
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>;
});

/// All that firmware needs of the board.
pub struct Board {
    /// For what is kept.
    pub flash: Kept,
    /// The Ethernet chip.
    pub ethernet: Chip,
    /// The green LED.
    pub led: Pwm<'static>,
    /// To be [fed](feed).
    pub watchdog: Watchdog,
    /// Whatever the ring oscillator says.
    pub noise: [u8; 32],
}

impl Board {
    /// Starts clocks, pins and the watchdog.
    pub fn start() -> Self {
        restart::guard();
        let p = embassy_rp::init(Default::default());
        UART.set(UartTx::new_blocking(p.UART0, p.PIN_0, Default::default()));
        let mut watchdog = Watchdog::new(p.WATCHDOG);
        if let Some(ResetReason::TimedOut) = watchdog.reset_reason() {
            log::warn!("restarted after {} s of nothing", PATIENCE.as_secs());
        }
        watchdog.start(PATIENCE);

        let mut config = spi::Config::default();
        config.frequency = 30_000_000;
        let spi = Spi::new(
            p.SPI0, p.PIN_18, p.PIN_19, p.PIN_16, p.DMA_CH0, p.DMA_CH1, Irqs, config,
        );
        let Ok(spi) = ExclusiveDevice::new(spi, Output::new(p.PIN_17, Level::High), Delay);
        let mut noise = [0; 32];
        RoscRng.fill_bytes(&mut noise);
        Self {
            flash: Part::new(Flash::new_blocking(p.FLASH), FLASH_SIZE as u32 - KEPT, KEPT),
            ethernet: Chip {
                spi,
                interrupt: Input::new(p.PIN_21, Pull::Up),
                reset: Output::new(p.PIN_20, Level::High),
            },
            led: Pwm::new_output_b(p.PWM_SLICE4, p.PIN_25, pwm::Config::default()),
            watchdog,
            noise,
        }
    }
}

/// The Ethernet chip, before it is started.
pub struct Chip {
    spi: Bus,
    interrupt: Input<'static>,
    reset: Output<'static>,
}

impl Chip {
    /// Starts it: for the network stack, and what runs beside it. Fails if the chip does not answer.
    pub async fn start(
        self,
        mac: [u8; 6],
        state: &'static mut State<8, 8>,
    ) -> Result<(Device<'static>, Ethernet), impl fmt::Debug> {
        embassy_net_wiznet::new(mac, state, self.spi, self.interrupt, self.reset).await
    }
}

/// Feeds the watchdog, as long as tasks are run at all.
pub async fn feed(mut watchdog: Watchdog) -> ! {
    loop {
        watchdog.feed(PATIENCE);
        Timer::after(PATIENCE / 4).await;
    }
}
