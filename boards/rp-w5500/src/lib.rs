//! WIZnet's W5500-EVB-Pico: an RP2040, 2 MiB of flash, and a W5500 for Ethernet on SPI 0. Text goes out on UART 0 (pin GP0, 115 200 baud).
#![no_std]

use embassy_executor::Spawner;
use embassy_net_wiznet::chip::W5500;
use embassy_net_wiznet::{Device, State};
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
use ringwatch_app::image::{Board, Runner};
use ringwatch_app::restart::Note;
use ringwatch_app::{flash::Part, light::Light, logger::Logger, network, port::Port};
use ringwatch_cortex_m::{restart, stack};
use static_cell::StaticCell;

const FLASH_SIZE: usize = 2 * 1024 * 1024;
const KEPT: u32 = 16 * 1024;
/// How long nothing may happen before the board restarts. Erasing a page takes 0.4 s at most.
const PATIENCE: Duration = Duration::from_secs(8);

/// What is kept through a loss of power is here; `memory.x` leaves it alone.
pub type Kept = Part<Flash<'static, FLASH, flash::Blocking, FLASH_SIZE>>;
type Bus = ExclusiveDevice<Spi<'static, SPI0, spi::Async>, Output<'static>, Delay>;
type Ethernet = embassy_net_wiznet::Runner<'static, W5500, Bus, Input<'static>, Output<'static>>;

static LIGHT: Light = Light::new();
static LOGGER: Logger = Logger::new(|line| UART.print(line));
static UART: Port<UartTx<'static, uart::Blocking>> = Port::new();

bind_interrupts!(struct Irqs {
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>;
});

/// Starts everything: what an image is given of the board, once.
///
/// # Panics
///
/// If the Ethernet chip does not answer; the board restarts then.
pub async fn start(spawner: Spawner) -> Board<Kept, Device<'static>> {
    static CHIP: StaticCell<State<8, 8>> = StaticCell::new();
    restart::guard();
    LOGGER.start();
    let p = embassy_rp::init(Default::default());
    UART.set(UartTx::new_blocking(p.UART0, p.PIN_0, Default::default()));
    let mut watchdog = Watchdog::new(p.WATCHDOG);
    let restarted = match watchdog.reset_reason() {
        Some(ResetReason::TimedOut) => Note::of_watchdog(PATIENCE.as_secs()),
        _ => restart::note(),
    };
    watchdog.start(PATIENCE);
    let led = Pwm::new_output_b(p.PWM_SLICE4, p.PIN_25, pwm::Config::default());
    let mut flash = Flash::new_blocking(p.FLASH);
    let mut number = [0; 8];
    // A chip that does not tell has the address of all those.
    let _ = flash.blocking_unique_id(&mut number);

    let mut config = spi::Config::default();
    config.frequency = 30_000_000;
    let spi = Spi::new(
        p.SPI0, p.PIN_18, p.PIN_19, p.PIN_16, p.DMA_CH0, p.DMA_CH1, Irqs, config,
    );
    let Ok(spi) = ExclusiveDevice::new(spi, Output::new(p.PIN_17, Level::High), Delay);
    let interrupt = Input::new(p.PIN_21, Pull::Up);
    let reset = Output::new(p.PIN_20, Level::High);
    let state = CHIP.init(State::new());
    let started = embassy_net_wiznet::new(network::mac(&number), state, spi, interrupt, reset);
    let (network, ethernet) = started.await.expect("the Ethernet chip answers");
    spawner.spawn(led_task(led).expect("it is spawned once"));
    spawner.spawn(watchdog_task(watchdog).expect("it is spawned once"));
    spawner.spawn(ethernet_task(ethernet).expect("it is spawned once"));
    spawner.spawn(stack_task().expect("it is spawned once"));
    let mut noise = [0; 32];
    RoscRng.fill_bytes(&mut noise);
    Board {
        restarted: restarted.placed(),
        flash: Part::new(flash, FLASH_SIZE as u32 - KEPT, KEPT),
        network,
        run_network: |spawner, runner| {
            spawner.spawn(network_task(runner).expect("it is spawned once"));
        },
        drive: |setpoint| LIGHT.set(setpoint),
        noise,
    }
}

#[embassy_executor::task]
async fn ethernet_task(runner: Ethernet) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, Device<'static>>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn stack_task() -> ! {
    stack::report().await
}

#[embassy_executor::task]
async fn led_task(led: Pwm<'static>) -> ! {
    LIGHT.shine(led).await
}

#[embassy_executor::task]
async fn watchdog_task(mut watchdog: Watchdog) -> ! {
    loop {
        watchdog.feed(PATIENCE);
        // As long as tasks are run at all.
        Timer::after(PATIENCE / 4).await;
    }
}
