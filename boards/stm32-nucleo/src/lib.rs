//! ST's Nucleo-144 boards with Ethernet: the pins are the same on all of them, and the chips differ in little ([`chip`]).
//!
//! Text goes out on USART 3, which the board's debugger shows to a computer as a serial port (115 200 baud).
#![no_std]

mod chip;

use embassy_stm32::eth::{Ethernet, GenericPhy, PacketQueue, Sma};
use embassy_stm32::flash::{self, FLASH_SIZE, Flash};
use embassy_stm32::gpio::OutputType;
use embassy_stm32::mode::Blocking;
use embassy_stm32::peripherals::{ETH, ETH_SMA, RNG, TIM3};
use embassy_stm32::rng::Rng;
use embassy_stm32::time::khz;
use embassy_stm32::timer::simple_pwm::{PwmPin, SimplePwm, SimplePwmChannel};
use embassy_stm32::usart::UartTx;
use embassy_stm32::wdg::IndependentWatchdog;
use embassy_stm32::{Peri, bind_interrupts, eth, peripherals as p, rng};
use embassy_time::{Duration, Timer};
use ringwatch_app::{flash::Part, port::Port};
use ringwatch_cortex_m::restart;

/// How long nothing may happen before the board restarts. Erasing a sector takes 4 s at most.
const PATIENCE: Duration = Duration::from_secs(16);

/// What is kept through a loss of power is here.
pub type Kept = Part<Flash<'static, flash::Blocking>>;
/// The network driver.
pub type Device = Ethernet<'static, ETH, GenericPhy<Sma<'static, ETH_SMA>>>;
/// What the network driver has on its way.
pub type Packets = PacketQueue<4, 4>;
/// An LED that is dimmed.
pub type Led = SimplePwmChannel<'static, TIM3>;
/// The watchdog.
pub type Watchdog = IndependentWatchdog<'static, chip::Dog>;

/// Where text goes.
pub static UART: Port<UartTx<'static, Blocking>> = Port::new();

bind_interrupts!(struct Irqs {
    ETH => eth::InterruptHandler;
    RNG => rng::InterruptHandler<RNG>;
});

/// All that firmware needs of the board.
pub struct Board {
    /// For what is kept.
    pub flash: Kept,
    /// The network, before it is started.
    pub ethernet: Wires,
    /// The green LED, LD1.
    pub led: Led,
    /// To be [fed](feed).
    pub watchdog: Watchdog,
    /// From the chip's random number generator.
    pub noise: [u8; 32],
}

impl Board {
    /// Starts clocks, pins and the watchdog.
    pub fn start() -> Self {
        restart::guard();
        let p = embassy_stm32::init(chip::clocks());
        let uart = UartTx::new_blocking(p.USART3, p.PD8, Default::default());
        UART.set(uart.expect("115 200 baud are possible"));
        if chip::is_watchdogs_reset() {
            log::warn!("restarted after {} s of nothing", PATIENCE.as_secs());
        }
        #[cfg(feature = "h743zi")]
        let dog = p.IWDG1;
        #[cfg(feature = "f767zi")]
        let dog = p.IWDG;
        let mut watchdog = IndependentWatchdog::new(dog, PATIENCE.as_micros() as u32);
        watchdog.unleash();
        let pin = PwmPin::new(p.PB0, OutputType::PushPull);
        let timer = SimplePwm::new(
            p.TIM3,
            None,
            None,
            Some(pin),
            None,
            khz(1),
            Default::default(),
        );
        let mut led = timer.split().ch3;
        led.enable();
        let mut noise = [0; 32];
        Rng::new(p.RNG, Irqs).fill_bytes(&mut noise);
        let kept_at = FLASH_SIZE as u32 - chip::KEPT;
        Self {
            flash: Part::new(Flash::new_blocking(p.FLASH), kept_at, chip::KEPT),
            ethernet: Wires {
                controller: p.ETH,
                management: p.ETH_SMA,
                clock: p.PA1,
                data: p.PA2,
                data_clock: p.PC1,
                carrier: p.PA7,
                receive: (p.PC4, p.PC5),
                transmit: (p.PG13, p.PB13),
                transmitting: p.PG11,
            },
            led,
            watchdog,
            noise,
        }
    }
}

/// How the network is wired (RMII).
pub struct Wires {
    controller: Peri<'static, ETH>,
    management: Peri<'static, ETH_SMA>,
    clock: Peri<'static, p::PA1>,
    data: Peri<'static, p::PA2>,
    data_clock: Peri<'static, p::PC1>,
    carrier: Peri<'static, p::PA7>,
    receive: (Peri<'static, p::PC4>, Peri<'static, p::PC5>),
    transmit: (Peri<'static, p::PG13>, Peri<'static, p::PB13>),
    transmitting: Peri<'static, p::PG11>,
}

impl Wires {
    /// Starts the network.
    pub fn start(self, mac: [u8; 6], packets: &'static mut Packets) -> Device {
        Ethernet::new(
            packets,
            self.controller,
            Irqs,
            self.clock,
            self.carrier,
            self.receive.0,
            self.receive.1,
            self.transmit.0,
            self.transmit.1,
            self.transmitting,
            mac,
            self.management,
            self.data,
            self.data_clock,
        )
    }
}

/// Feeds the watchdog, as long as tasks are run at all.
pub async fn feed(mut watchdog: Watchdog) -> ! {
    loop {
        watchdog.pet();
        Timer::after(PATIENCE / 4).await;
    }
}
