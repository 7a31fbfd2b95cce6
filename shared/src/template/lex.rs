//! A template's text into tokens. Pure.

use super::{Fault, MOST_ACTIONS, tree::Place};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
/// What Go trims and takes as space inside an action.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// A fault and the byte it stands at.
pub(super) type Misread = (usize, Fault);

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    /// The byte it begins at.
    pub(super) at: usize,
    /// Whether space stands before it.
    pub(super) spaced: bool,
    pub(super) what: What,
}

/// The kinds of token. Between [`What::Open`] and [`What::Close`] stands no [`What::Text`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// Outside actions, trimmed already and never empty.
    Text(String),
    Open,
    Close,
    /// A name without a dot: a keyword or a function.
    Word(String),
    Data(Place),
    Quoted(String),
    Number(i64),
    Pipe,
    LeftParenthesis,
    RightParenthesis,
}

/// All tokens of `source`; comments are none.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, Misread> {
    let mut lexer = Lexer {
        source,
        at: 0,
        tokens: Vec::new(),
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    tokens: Vec<Token>,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, at: usize, spaced: bool, what: What) {
        self.tokens.push(Token { at, spaced, what });
    }

    fn run(&mut self) -> Result<(), Misread> {
        let mut actions = 0;
        let mut trims = false;
        loop {
            let rest = self.rest();
            let end = rest.find(OPEN);
            let mut text = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
            let begun = self.at;
            self.at += text.len();
            if trims {
                text = text.trim_start_matches(SPACE);
            }
            let opened = self.at;
            if end.is_some() {
                actions += 1;
                if actions > MOST_ACTIONS {
                    return Err((opened, Fault::Actions));
                }
                self.at += OPEN.len();
                if self.rest().starts_with('-') && self.rest().get(1..).is_some_and(spaced) {
                    text = text.trim_end_matches(SPACE);
                    self.at += 2;
                }
            }
            if !text.is_empty() {
                self.push(begun, false, What::Text(text.to_owned()));
            }
            if end.is_none() {
                return Ok(());
            }
            trims = if self.rest().starts_with("/*") {
                self.comment(opened)?
            } else {
                self.push(opened, false, What::Open);
                self.action(opened)?
            };
        }
    }

    /// Steps over a comment; whether it trims what follows.
    fn comment(&mut self, opened: usize) -> Result<bool, Misread> {
        let unclosed = (opened, Fault::Comment);
        let end = self.rest().find("*/").ok_or(unclosed)?;
        self.at += end + 2;
        let spaced = spaced(self.rest());
        self.at += usize::from(spaced);
        self.closing(spaced)
            .filter(|trims| *trims == spaced)
            .ok_or(unclosed)
    }

    /// Steps over `}}` or ` -}}`, if it stands here; whether it trims what follows.
    fn closing(&mut self, spaced: bool) -> Option<bool> {
        let rest = self.rest();
        let trims = spaced && rest.starts_with("-}}");
        if !trims && !rest.starts_with(CLOSE) {
            return None;
        }
        self.at += CLOSE.len() + usize::from(trims);
        Some(trims)
    }

    /// The tokens of an action with its end; whether it trims what follows.
    fn action(&mut self, opened: usize) -> Result<bool, Misread> {
        loop {
            let before = self.rest();
            let rest = before.trim_start_matches(SPACE);
            self.at += before.len() - rest.len();
            let spaced = before.len() > rest.len();
            let at = self.at;
            if let Some(trims) = self.closing(spaced) {
                self.push(at, spaced, What::Close);
                return Ok(trims);
            }
            let first = rest.chars().next().ok_or((opened, Fault::Unclosed))?;
            let what = self.token(first)?;
            self.push(at, spaced, what);
        }
    }

    fn token(&mut self, first: char) -> Result<What, Misread> {
        let simple = match first {
            '|' => Some(What::Pipe),
            '(' => Some(What::LeftParenthesis),
            ')' => Some(What::RightParenthesis),
            _ => None,
        };
        if let Some(simple) = simple {
            self.at += 1;
            return Ok(simple);
        }
        match first {
            '.' | '$' => self.place(first),
            '"' => self.quoted(),
            '`' => self.raw(),
            '+' | '-' | '0'..='9' => self.number(),
            '\'' => Err((self.at, Fault::Unsupported("character constants"))),
            ':' | '=' | ',' => Err((self.at, Fault::Unsupported("variables"))),
            _ => match self.word() {
                "" => Err((self.at, Fault::Character)),
                word => Ok(What::Word(word.to_owned())),
            },
        }
    }

    /// Steps over the letters, digits and `_` that stand here.
    fn word(&mut self) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric());
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
        self.at += word.len();
        word
    }

    fn place(&mut self, first: char) -> Result<What, Misread> {
        let from_root = first == '$';
        let mut fields = Vec::new();
        if from_root {
            self.at += 1;
            if !self.rest().starts_with('.') && !self.word().is_empty() {
                return Err((self.at, Fault::Unsupported("variables")));
            }
        }
        while self.rest().starts_with('.') {
            let dot = self.at;
            self.at += 1;
            let name = self.word();
            let alone = name.is_empty() && fields.is_empty() && !from_root;
            if alone {
                break;
            }
            if name.is_empty() || name.starts_with(char::is_numeric) {
                return Err((dot, Fault::Character));
            }
            fields.push(name.to_owned());
        }
        Ok(What::Data(Place { from_root, fields }))
    }

    fn number(&mut self) -> Result<What, Misread> {
        let at = self.at;
        if self.rest().starts_with(['+', '-']) {
            self.at += 1;
        }
        if !self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return Err((at, Fault::Character));
        }
        self.word();
        let fraction = self.rest().starts_with('.');
        let text = self.source.get(at..self.at).unwrap_or_default();
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        // To Go a leading 0 means another base.
        let octal = digits.len() > 1 && digits.starts_with('0');
        match text.parse() {
            Ok(number) if !fraction && !octal => Ok(What::Number(number)),
            _ => Err((at, Fault::Number)),
        }
    }

    fn raw(&mut self) -> Result<What, Misread> {
        let inside = self.rest().get(1..).unwrap_or_default();
        let end = inside.find('`').ok_or((self.at, Fault::Quote))?;
        self.at += end + 2;
        let text = inside.get(..end).unwrap_or_default();
        // As in Go.
        Ok(What::Quoted(text.replace('\r', "")))
    }

    fn quoted(&mut self) -> Result<What, Misread> {
        let begun = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let next = self.rest().chars().next().filter(|next| *next != '\n');
            let next = next.ok_or((begun, Fault::Quote))?;
            let at = self.at;
            self.at += next.len_utf8();
            match next {
                '"' => return Ok(What::Quoted(text)),
                '\\' => text.push(self.escape().ok_or((at, Fault::Escape))?),
                other => text.push(other),
            }
        }
    }

    /// The character that the escape behind a backslash stands for.
    fn escape(&mut self) -> Option<char> {
        let kind = self.rest().chars().next()?;
        self.at += kind.len_utf8();
        let digits = match kind {
            'a' => return Some('\u{7}'),
            'b' => return Some('\u{8}'),
            'f' => return Some('\u{c}'),
            'n' => return Some('\n'),
            'r' => return Some('\r'),
            't' => return Some('\t'),
            'v' => return Some('\u{b}'),
            '\\' | '"' => return Some(kind),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => return None,
        };
        let hex = self.rest().get(..digits)?;
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += digits;
        let code = u32::from_str_radix(hex, 16).ok()?;
        char::from_u32(code).filter(|_| kind != 'x' || code < 0x80)
    }
}

fn spaced(text: &str) -> bool {
    text.starts_with(SPACE)
}
