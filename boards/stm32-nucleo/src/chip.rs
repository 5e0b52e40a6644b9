//! In what the two chips differ: clocks, where flash is free, and which register says why they were reset.

use embassy_stm32::Config;
#[cfg(feature = "f767zi")]
pub(crate) use embassy_stm32::peripherals::IWDG as Dog;
#[cfg(feature = "h743zi")]
pub(crate) use embassy_stm32::peripherals::IWDG1 as Dog;
use embassy_stm32::rcc::*;

/// What is kept is in this many bytes at the end of flash: two sectors. The linker leaves them alone.
#[cfg(feature = "h743zi")]
pub(crate) const KEPT: u32 = 2 * 128 * 1024;
/// What is kept is in this many bytes at the end of flash: two sectors. The linker leaves them alone.
#[cfg(feature = "f767zi")]
pub(crate) const KEPT: u32 = 2 * 256 * 1024;

/// 400 MHz from the chip's own oscillator.
#[cfg(feature = "h743zi")]
pub(crate) fn clocks() -> Config {
    let mut config = Config::default();
    let rcc = &mut config.rcc;
    rcc.hsi = Some(HSIPrescaler::DIV1);
    rcc.pll1 = Some(Pll {
        source: PllSource::HSI,
        prediv: PllPreDiv::DIV4,
        mul: PllMul::MUL50,
        fracn: None,
        divp: Some(PllDiv::DIV2),
        divq: None,
        divr: None,
    });
    rcc.sys = Sysclk::PLL1_P;
    rcc.ahb_pre = AHBPrescaler::DIV2;
    rcc.apb1_pre = APBPrescaler::DIV2;
    rcc.apb2_pre = APBPrescaler::DIV2;
    rcc.apb3_pre = APBPrescaler::DIV2;
    rcc.apb4_pre = APBPrescaler::DIV2;
    rcc.voltage_scale = VoltageScale::Scale1;
    config
}

/// 216 MHz from the 8 MHz that the board's debugger gives, and 48 MHz for the random number generator.
#[cfg(feature = "f767zi")]
pub(crate) fn clocks() -> Config {
    let mut config = Config::default();
    let rcc = &mut config.rcc;
    rcc.hse = Some(Hse {
        freq: embassy_stm32::time::Hertz(8_000_000),
        mode: HseMode::Bypass,
    });
    rcc.pll_src = PllSource::HSE;
    rcc.pll = Some(Pll {
        prediv: PllPreDiv::DIV4,
        mul: PllMul::MUL216,
        divp: Some(PllPDiv::DIV2),
        divq: Some(PllQDiv::DIV9),
        divr: None,
    });
    rcc.sys = Sysclk::PLL1_P;
    rcc.ahb_pre = AHBPrescaler::DIV1;
    rcc.apb1_pre = APBPrescaler::DIV4;
    rcc.apb2_pre = APBPrescaler::DIV2;
    rcc.mux.clk48sel = mux::Clk48sel::PLL1_Q;
    config
}

/// Whether the watchdog has reset the chip; said once.
#[cfg(feature = "h743zi")]
pub(crate) fn is_watchdogs_reset() -> bool {
    let register = embassy_stm32::pac::RCC.rsr();
    let said = register.read().iwdg1rstf();
    register.modify(|bits| bits.set_rmvf(true));
    said
}

/// Whether the watchdog has reset the chip; said once.
#[cfg(feature = "f767zi")]
pub(crate) fn is_watchdogs_reset() -> bool {
    let register = embassy_stm32::pac::RCC.csr();
    let said = register.read().wdgrstf();
    register.modify(|bits| bits.set_rmvf(true));
    said
}
