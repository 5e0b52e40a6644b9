//! The tokens of a label selector.
//!
//! Identifiers are maximal runs of anything but whitespace and symbols, so every token begins and ends beside an
//! ASCII byte or an end of the text: a token's bounds are character boundaries. `in` and `notin` are identifiers
//! here; only the parser knows where they are operators.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The text's end, or a NUL byte, which ends a selector early.
    End,
    Identifier,
    Open,
    Close,
    Comma,
    Not,
    /// `=` or `==`.
    Equals,
    NotEquals,
    Greater,
    Less,
}

/// A token and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) text: &'a str,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Reads tokens from a position onwards; at the end it gives [`Kind::End`] for ever.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Lexer<'a> {
    /// Starts at `offset`, which must be a token's start for the tokens to mean anything.
    pub(super) fn at(text: &'a str, offset: usize) -> Self {
        Self {
            text,
            // An error's offset is public and can be anything.
            position: offset.min(text.len()),
        }
    }

    pub(super) fn token(&mut self) -> Token<'a> {
        while self.byte(0).is_some_and(is_whitespace) {
            self.position += 1;
        }
        let kind = match (self.byte(0), self.byte(1)) {
            (None | Some(0), _) => Kind::End,
            (Some(b'='), Some(b'=')) => return self.take(Kind::Equals, 2),
            (Some(b'!'), Some(b'=')) => return self.take(Kind::NotEquals, 2),
            (Some(byte), _) => symbol(byte).unwrap_or(Kind::Identifier),
        };
        match kind {
            Kind::End => self.take(kind, 0),
            Kind::Identifier => self.take(kind, self.identifier_length()),
            _ => self.take(kind, 1),
        }
    }

    fn take(&mut self, kind: Kind, length: usize) -> Token<'a> {
        let start = self.position;
        self.position += length;
        // The bounds are character boundaries (see above), so the fallback is for offsets from elsewhere.
        let text = self.text.get(start..self.position).unwrap_or("");
        Token { kind, start, text }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.position + ahead).copied()
    }

    fn identifier_length(&self) -> usize {
        self.text
            .bytes()
            .skip(self.position)
            .take_while(|&byte| byte != 0 && !is_whitespace(byte) && symbol(byte).is_none())
            .count()
    }
}

fn symbol(byte: u8) -> Option<Kind> {
    Some(match byte {
        b'(' => Kind::Open,
        b')' => Kind::Close,
        b',' => Kind::Comma,
        b'!' => Kind::Not,
        b'=' => Kind::Equals,
        b'>' => Kind::Greater,
        b'<' => Kind::Less,
        _ => return None,
    })
}

/// Space, tab, CR and LF; Unicode's other spaces are ordinary characters, which names then refuse.
fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}
