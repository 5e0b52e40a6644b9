//! A number's decimal digits in a small buffer.

/// The digits of a `u64`; the largest has twenty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digits {
    buffer: [u8; 20],
    start: u8,
}

impl Digits {
    pub(super) fn new(mut number: u64) -> Self {
        let mut buffer = [b'0'; 20];
        let mut start: u8 = 20;
        for place in buffer.iter_mut().rev() {
            *place = b'0' + (number % 10) as u8;
            start -= 1;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        Self { buffer, start }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.buffer
            .get(usize::from(self.start)..)
            .unwrap_or_default()
    }

    pub(super) fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_and_longest() {
        assert_eq!(Digits::new(0).as_str(), "0");
        assert_eq!(Digits::new(10).as_str(), "10");
        assert_eq!(Digits::new(u64::MAX).as_str(), "18446744073709551615");
    }
}
