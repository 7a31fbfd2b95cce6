//! Splits Rust source into the few tokens the trace needs: names, punctuation, string literals and
//! line comments. Pure. What is inside a literal or a block comment is never mistaken for code.

/// One token of interest; numbers, characters and lifetimes are passed over as [`Token::Other`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// An identifier or keyword; `r#name` without its prefix.
    Name(&'a str),
    /// A single character of punctuation.
    Mark(char),
    /// The inside of a string literal, escapes left as written.
    Text(&'a str),
    /// A `//` comment without its slashes.
    Comment(&'a str),
    /// Anything else.
    Other,
}

/// The tokens of one file, each with the line it starts on (from 1).
pub struct Tokens<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Tokens<'a> {
    /// Starts at the top of `source`.
    pub fn new(source: &'a str) -> Self {
        Self {
            rest: source,
            line: 1,
        }
    }

    /// Moves past `bytes` bytes and returns them.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (head, tail) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += head.matches('\n').count();
        self.rest = tail;
        head
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Moves past a block comment, which may hold others.
    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                self.take(2);
                depth -= 1;
            } else {
                let Some(next) = self.rest.chars().next() else {
                    return;
                };
                self.take(next.len_utf8());
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Reads up to the closing quote; the opening one is already taken.
    fn quoted(&mut self, quote: char) -> &'a str {
        let mut escaped = false;
        let end = self.rest.find(|c| {
            let closes = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        let inside = self.take(end.unwrap_or(self.rest.len()));
        self.take(1);
        inside
    }

    /// Reads a string literal with any prefix (`b`, `c`, `r`, `r#`, `br##`, ...), if one is next.
    fn string(&mut self) -> Option<&'a str> {
        let prefixed = self.rest.trim_start_matches(['b', 'c', 'r']);
        let prefix = &self.rest.get(..self.rest.len() - prefixed.len())?;
        let quoted = prefixed.trim_start_matches('#');
        let hashes = prefixed.len() - quoted.len();
        if prefix.len() > 2 || !quoted.starts_with('"') || (hashes > 0 && !prefix.contains('r')) {
            return None;
        }
        let raw = prefix.contains('r');
        self.take(prefix.len() + hashes + 1);
        if !raw {
            return Some(self.quoted('"'));
        }
        let close = format!("\"{}", "#".repeat(hashes));
        let inside = self.take(self.rest.find(&close).unwrap_or(self.rest.len()));
        self.take(close.len());
        Some(inside)
    }

    /// Moves past a character literal or a lifetime, which both start with a single quote.
    fn skip_quote(&mut self) {
        self.take(1);
        let mut next = self.rest.chars();
        let (first, second) = (next.next(), next.next());
        if first == Some('\\') || second == Some('\'') {
            self.quoted('\'');
        } else {
            self.take_while(is_name);
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, Token<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.take_while(char::is_whitespace);
            let line = self.line;
            let first = self.rest.chars().next()?;
            if self.rest.starts_with("/*") {
                self.skip_block_comment();
                continue;
            }
            let token = if self.rest.starts_with("//") {
                self.take(2);
                Token::Comment(self.take_while(|c| c != '\n'))
            } else if let Some(inside) = self.string() {
                Token::Text(inside)
            } else if first == '\'' || self.rest.starts_with("b'") {
                self.take(usize::from(first == 'b'));
                self.skip_quote();
                Token::Other
            } else if self.rest.starts_with("r#") {
                self.take(2);
                Token::Name(self.take_while(is_name))
            } else if first.is_numeric() {
                self.take_while(is_name);
                Token::Other
            } else if is_name(first) {
                Token::Name(self.take_while(is_name))
            } else {
                self.take(first.len_utf8());
                Token::Mark(first)
            };
            return Some((line, token));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str) -> Vec<&str> {
        Tokens::new(source)
            .filter_map(|(_, token)| match token {
                Token::Name(name) => Some(name),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn literals_and_comments_hide_what_they_hold() {
        let source = r###"
            a "fn x { \" }" b b"fn" c r#"fn " "# d br##"fn "# "## /* fn /* fn */ fn */ e // fn
            f '"' g '\'' h b'"' i 'static j r#type k c"fn" l 1_000usize m
        "###;
        let expected = [
            "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "type", "k", "l", "m",
        ];
        assert_eq!(names(source), expected);
    }

    #[test]
    fn a_token_carries_the_line_it_starts_on() {
        let lines: Vec<_> = Tokens::new("a\n\"x\ny\" b\n/* \n */ c // d\n")
            .map(|(line, _)| line)
            .collect();
        assert_eq!(lines, [1, 2, 3, 5, 5]);
    }

    #[test]
    fn source_that_ends_inside_something_ends_the_tokens() {
        for source in ["\"abc", "r#\"abc", "/* abc", "'", "'\\", "b'", "r#", "/"] {
            assert!(Tokens::new(source).count() <= 2, "{source}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_to_its_end(source in "(?s)[/*\"'#rbc\\\\{}\n a]{0,60}|.{0,60}") {
            let mut tokens = Tokens::new(&source);
            while tokens.next().is_some() {}
            proptest::prop_assert!(tokens.rest.is_empty());
        }
    }
}
