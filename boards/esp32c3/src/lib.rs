//! An ESP32-C3 with 4 MiB of flash, as it is on most boards. Text goes out on its USB port, or its first serial port if nothing is connected there. The LED is at GPIO 7, as on
//! the ESP32-C3-DevKit-RUST-1.
//!
//! # The allocator
//!
//! The radio's driver (`esp-radio`, around a library of Espressif's) needs one, and a scheduler of its own. It has [`RADIO`] bytes. What is ours needs none: the same code
//! is linked without an allocator on every other board.
#![no_std]

pub mod restart;

use embassy_executor::Spawner;
use embassy_time::{Duration, Timer};
use esp_hal::clock::CpuClock;
use esp_hal::gpio::DriveMode;
use esp_hal::interrupt::software::SoftwareInterruptControl;
use esp_hal::ledc::channel::{self, Channel, ChannelIFace};
use esp_hal::ledc::timer::{self, TimerIFace};
use esp_hal::ledc::{LSGlobalClkSource, Ledc, LowSpeed};
use esp_hal::rng::Rng;
use esp_hal::rtc_cntl::{Rtc, Rwdt, RwdtStage, SocResetReason};
use esp_hal::time::Rate;
use esp_hal::timer::timg::TimerGroup;
use esp_radio::wifi::{self, Interface, WifiController, sta::StationConfig};
use esp_storage::FlashStorage;
use ringwatch_app::image::{Board, Runner};
use ringwatch_app::restart::Note;
use ringwatch_app::{flash::Part, light::Light, logger::Logger};
use ringwatch_settings::Wifi;
use static_cell::StaticCell;

/// What the radio's driver may allocate.
pub const RADIO: usize = 72 * 1024;
/// What is kept is where the usual partition table has `nvs`, which nothing else here uses.
const KEPT: (u32, u32) = (0x9000, 0x6000);
/// How long nothing may happen before the board restarts.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long to wait before joining again.
const PAUSE: Duration = Duration::from_secs(2);

/// What is kept through a loss of power is here.
pub type Kept = Part<FlashStorage<'static>>;

static LIGHT: Light = Light::new();
static LOGGER: Logger = Logger::new(|line| esp_println::print!("{line}"));

/// Starts everything: what an image is given of the board, once.
///
/// # Panics
///
/// If the radio cannot be started; the board restarts then.
pub fn start(spawner: Spawner, wifi: Wifi<'static>) -> Board<Kept, Interface<'static>> {
    static TIMER: StaticCell<timer::Timer<'static, LowSpeed>> = StaticCell::new();
    LOGGER.start();
    esp_alloc::heap_allocator!(size: RADIO);
    let p = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max()));
    let restarted = match esp_hal::system::reset_reason() {
        Some(SocResetReason::SysRtcWdt | SocResetReason::CoreRtcWdt) => {
            Note::of_watchdog(PATIENCE.as_secs())
        }
        _ => restart::note(),
    };
    let mut watchdog = Rtc::new(p.LPWR).rwdt;
    let patience = esp_hal::time::Duration::from_secs(PATIENCE.as_secs());
    watchdog.set_timeout(RwdtStage::Stage0, patience);
    watchdog.enable();
    let scheduler = TimerGroup::new(p.TIMG0).timer0;
    let interrupts = SoftwareInterruptControl::new(p.SW_INTERRUPT);
    esp_rtos::start(scheduler, interrupts.software_interrupt0);

    let mut dimmer = Ledc::new(p.LEDC);
    dimmer.set_global_slow_clock(LSGlobalClkSource::APBClk);
    let timer = TIMER.init(dimmer.timer(timer::Number::Timer0));
    let how = timer::config::Config {
        duty: timer::config::Duty::Duty8Bit,
        clock_source: timer::LSClockSource::APBClk,
        frequency: Rate::from_khz(1),
    };
    timer.configure(how).expect("8 bits at 1 kHz are possible");
    let mut led = dimmer.channel(channel::Number::Channel0, p.GPIO7);
    let how = channel::config::Config {
        timer,
        duty_pct: 0,
        drive_mode: DriveMode::PushPull,
    };
    led.configure(how).expect("its timer is configured");

    let (radio, interfaces) = wifi::new(p.WIFI, Default::default()).expect("there is a radio");
    spawner.spawn(led_task(led).expect("it is spawned once"));
    spawner.spawn(watchdog_task(watchdog).expect("it is spawned once"));
    spawner.spawn(radio_task(radio, wifi).expect("it is spawned once"));
    let mut noise = [0; 32];
    Rng::new().read(&mut noise);
    Board {
        restarted: restarted.placed(),
        flash: Part::new(FlashStorage::new(p.FLASH), KEPT.0, KEPT.1),
        network: interfaces.station,
        run_network: |spawner, runner| {
            spawner.spawn(network_task(runner).expect("it is spawned once"));
        },
        drive: |setpoint| LIGHT.set(setpoint),
        noise,
    }
}

/// Joins a network, and again whenever that is lost.
#[embassy_executor::task]
async fn radio_task(mut radio: WifiController<'static>, to: Wifi<'static>) -> ! {
    let station = StationConfig::default()
        .with_ssid(to.ssid)
        .with_password(to.password.into());
    if let Err(error) = radio.set_config(&wifi::Config::Station(station)) {
        log::error!("no Wi-Fi {}: {error:?}", to.ssid);
    }
    loop {
        match radio.connect_async().await {
            Ok(_) => {
                log::info!("joined {}", to.ssid);
                let _ = radio.wait_for_disconnect_async().await;
                log::warn!("Wi-Fi {} is lost", to.ssid);
            }
            Err(error) => log::warn!("no Wi-Fi {}: {error:?}", to.ssid),
        }
        Timer::after(PAUSE).await;
    }
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, Interface<'static>>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn led_task(led: Channel<'static, LowSpeed>) -> ! {
    LIGHT.shine(led).await
}

#[embassy_executor::task]
async fn watchdog_task(mut watchdog: Rwdt) -> ! {
    loop {
        watchdog.feed();
        // As long as tasks are run at all.
        Timer::after(PATIENCE / 4).await;
    }
}
