//! Keeping what is resident close to what is used.

/// Asks the system for small pages only. A server holds thousands of buffers of which the first bytes are used, and with
/// huge pages all of each would be resident: 8 KiB more for every connection.
///
/// The allocator asks for huge pages by itself, so this has to come before it has much.
pub fn use_small_pages() {
    #[cfg(target_os = "linux")]
    // An old system without the call has the memory to be spent.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
