//! ST's Nucleo-144 boards with Ethernet: the pins are the same on all of them, and the chips differ in little ([`chip`]).
//!
//! Text goes out on USART 3, which the board's debugger shows to a computer as a serial port (115 200 baud).
#![no_std]

mod chip;

use embassy_executor::Spawner;
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
use embassy_stm32::{bind_interrupts, eth, rng};
use embassy_time::{Duration, Timer};
use ringwatch_app::image::{Board, Runner};
use ringwatch_app::restart::Note;
use ringwatch_app::{flash::Part, light::Light, logger::Logger, network, port::Port};
use ringwatch_cortex_m::{restart, stack};
use static_cell::StaticCell;

/// How long nothing may happen before the board restarts. Erasing a sector takes 4 s at most.
const PATIENCE: Duration = Duration::from_secs(16);

/// What is kept through a loss of power is here.
pub type Kept = Part<Flash<'static, flash::Blocking>>;
/// The network driver.
pub type Device = Ethernet<'static, ETH, GenericPhy<Sma<'static, ETH_SMA>>>;

static LIGHT: Light = Light::new();
static LOGGER: Logger = Logger::new(|line| UART.print(line));
static UART: Port<UartTx<'static, Blocking>> = Port::new();

bind_interrupts!(struct Irqs {
    ETH => eth::InterruptHandler;
    RNG => rng::InterruptHandler<RNG>;
});

/// Starts everything: what an image is given of the board, once.
///
/// # Panics
///
/// Never; the serial port can do what it is asked for.
pub fn start(spawner: Spawner) -> Board<Kept, Device> {
    static PACKETS: StaticCell<PacketQueue<4, 4>> = StaticCell::new();
    restart::guard();
    LOGGER.start();
    let p = embassy_stm32::init(chip::clocks());
    let uart = UartTx::new_blocking(p.USART3, p.PD8, Default::default());
    UART.set(uart.expect("115 200 baud are possible"));
    let restarted = match chip::is_watchdogs_reset() {
        true => Note::of_watchdog(PATIENCE.as_secs()),
        false => restart::note(),
    };
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
    let network = Ethernet::new(
        PACKETS.init_with(PacketQueue::new),
        p.ETH,
        Irqs,
        p.PA1,
        p.PA7,
        p.PC4,
        p.PC5,
        p.PG13,
        p.PB13,
        p.PG11,
        network::mac(&embassy_stm32::uid::uid()),
        p.ETH_SMA,
        p.PA2,
        p.PC1,
    );
    spawner.spawn(led_task(led).expect("it is spawned once"));
    spawner.spawn(watchdog_task(watchdog).expect("it is spawned once"));
    spawner.spawn(stack_task().expect("it is spawned once"));
    let kept_at = FLASH_SIZE as u32 - chip::KEPT;
    Board {
        restarted: restarted.placed(),
        flash: Part::new(Flash::new_blocking(p.FLASH), kept_at, chip::KEPT),
        network,
        run_network: |spawner, runner| {
            spawner.spawn(network_task(runner).expect("it is spawned once"));
        },
        drive: |setpoint| LIGHT.set(setpoint),
        noise,
    }
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, Device>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn stack_task() -> ! {
    stack::report().await
}

#[embassy_executor::task]
async fn led_task(led: SimplePwmChannel<'static, TIM3>) -> ! {
    LIGHT.shine(led).await
}

#[embassy_executor::task]
async fn watchdog_task(mut watchdog: IndependentWatchdog<'static, chip::Dog>) -> ! {
    loop {
        watchdog.pet();
        // As long as tasks are run at all.
        Timer::after(PATIENCE / 4).await;
    }
}
