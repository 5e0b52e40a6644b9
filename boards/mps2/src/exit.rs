//! Leaving the emulator.

// Reason: semihosting is a breakpoint instruction with an argument in a register.
#![allow(unsafe_code)]

/// Ends QEMU; `code` becomes its exit code.
///
/// Without a debugger or an emulator behind it, the call does not return but sleeps.
pub fn exit(code: u32) -> ! {
    const SYS_EXIT_EXTENDED: usize = 0x20;
    const APPLICATION_EXIT: u32 = 0x2_0026;
    let block = [APPLICATION_EXIT, code];
    // SAFETY: the call takes a pointer to two words, which live until it returns.
    unsafe { cortex_m_semihosting::syscall(SYS_EXIT_EXTENDED, &block) };
    loop {
        cortex_m::asm::wfi();
    }
}
