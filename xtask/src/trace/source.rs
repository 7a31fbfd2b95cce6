//! Finds tests, what they prove and which modules a file declares. Pure.
//!
//! A test says what it proves in a comment directly above its attributes:
//!
//! ```text
//! // Proves: T-007, W-009
//! #[test]
//! fn a_claim_without_a_runtime_is_refused() {}
//! ```

use super::requirement::Id;
use super::tokens::{Token, Tokens};

/// What one file holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Its tests, in order.
    pub tests: Vec<Test>,
    /// The modules that live in other files (`mod name;`).
    pub modules: Vec<Module>,
    /// `Proves` comments that cannot be understood.
    pub problems: Vec<Problem>,
}

/// One test function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Inline modules around it.
    pub modules: Vec<String>,
    /// Its name.
    pub name: String,
    /// The line of `fn`, from 1.
    pub line: usize,
    /// The requirements it says it proves.
    pub proves: Vec<Id>,
}

/// A module declared here whose code is elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Inline modules around the declaration.
    pub parents: Vec<String>,
    /// Its name.
    pub name: String,
    /// What `#[path = "..."]` says, if anything.
    pub path: Option<String>,
}

/// A comment that proves nothing, with its line (from 1) and what is wrong.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line of the comment.
    pub line: usize,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// Reads one file.
pub fn scan(source: &str) -> Source {
    let mut scanner = Scanner {
        tokens: Tokens::new(source).peekable(),
        ..Scanner::new()
    };
    while let Some((line, token)) = scanner.tokens.next() {
        scanner.step(line, &token);
    }
    scanner.forget();
    scanner.found
}

/// Comments and attributes seen since the last item: they belong to the next one.
#[derive(Default)]
struct Pending {
    is_test: bool,
    path: Option<String>,
    proves: Vec<Id>,
    proves_at: Option<usize>,
    /// The last comment ended in a comma: the next line goes on.
    continues: bool,
}

struct Scanner<'a> {
    tokens: std::iter::Peekable<Tokens<'a>>,
    depth: usize,
    /// Open inline modules and the depth of their braces.
    open: Vec<(String, usize)>,
    pending: Pending,
    found: Source,
}

impl<'a> Scanner<'a> {
    fn new() -> Self {
        Self {
            tokens: Tokens::new("").peekable(),
            depth: 0,
            open: Vec::new(),
            pending: Pending::default(),
            found: Source::default(),
        }
    }

    fn step(&mut self, line: usize, token: &Token<'a>) {
        match token {
            Token::Comment(text) => self.comment(line, text),
            Token::Mark('#') => self.attribute(),
            Token::Name("fn") => self.function(line),
            Token::Name("mod") => self.module(),
            Token::Mark('{') => {
                self.depth += 1;
                self.forget();
            }
            Token::Mark('}') => {
                self.open.pop_if(|(_, depth)| *depth == self.depth);
                self.depth = self.depth.saturating_sub(1);
                self.forget();
            }
            Token::Mark(';') => self.forget(),
            _ => {}
        }
    }

    fn comment(&mut self, line: usize, text: &str) {
        let ids = match text
            .trim_start_matches(['/', '!'])
            .trim()
            .strip_prefix("Proves:")
        {
            Some(ids) => {
                self.pending.proves_at.get_or_insert(line);
                ids
            }
            None if self.pending.continues => text.trim(),
            None => return,
        };
        self.pending.continues = ids.trim_end().ends_with(',');
        let ids = ids.trim().trim_end_matches(',');
        for word in ids.split(',').map(str::trim) {
            match word.parse() {
                Ok(id) => self.pending.proves.push(id),
                Err(_) => self.problem(
                    line,
                    format!(
                        "`{word}` is not a requirement id; after `Proves:` write ids only, \
                         separated by commas"
                    ),
                ),
            }
        }
    }

    /// Reads `#[...]`; an inner attribute (`#![...]`) says nothing about the next item.
    fn attribute(&mut self) {
        let inner = self
            .tokens
            .next_if(|(_, token)| *token == Token::Mark('!'))
            .is_some();
        if self
            .tokens
            .next_if(|(_, token)| *token == Token::Mark('['))
            .is_none()
        {
            return;
        }
        let mut depth = 1_usize;
        let mut in_name = true;
        let mut name = "";
        for (_, token) in self.tokens.by_ref() {
            match token {
                Token::Mark('[') => depth += 1,
                Token::Mark(']') => depth -= 1,
                Token::Mark(':') => {}
                Token::Name(segment) if in_name => name = segment,
                Token::Text(text) if name == "path" && depth == 1 && !inner => {
                    self.pending.path = Some(text.to_owned());
                }
                _ => in_name = false,
            }
            if depth == 0 {
                break;
            }
        }
        if !inner && matches!(name, "test" | "rstest") {
            self.pending.is_test = true;
        }
    }

    fn function(&mut self, line: usize) {
        // `fn(` is a pointer type and `fn $name` the body of a macro: neither is an item here.
        let Some((_, Token::Name(name))) = self.tokens.peek() else {
            return;
        };
        let name = (*name).to_owned();
        let pending = std::mem::take(&mut self.pending);
        if pending.is_test {
            let modules = self.inside();
            self.found.tests.push(Test {
                modules,
                name,
                line,
                proves: pending.proves,
            });
        } else if let Some(line) = pending.proves_at {
            self.problem(
                line,
                format!("`Proves` stands above `{name}`, which is not a test"),
            );
        }
    }

    fn module(&mut self) {
        let Some((_, Token::Name(name))) = self
            .tokens
            .next_if(|(_, token)| matches!(token, Token::Name(_)))
        else {
            return;
        };
        let path = self.pending.path.take();
        match self.tokens.peek() {
            Some((_, Token::Mark('{'))) => self.open.push((name.to_owned(), self.depth + 1)),
            Some((_, Token::Mark(';'))) => {
                let parents = self.inside();
                self.found.modules.push(Module {
                    parents,
                    name: name.to_owned(),
                    path,
                });
            }
            _ => {}
        }
    }

    fn inside(&self) -> Vec<String> {
        self.open.iter().map(|(name, _)| name.clone()).collect()
    }

    /// An item ended: what was pending belonged to it.
    fn forget(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if let Some(line) = pending.proves_at {
            self.problem(line, "`Proves` stands above no test".to_owned());
        }
    }

    fn problem(&mut self, line: usize, message: String) {
        self.found.problems.push(Problem { line, message });
    }
}

#[cfg(test)]
mod tests;
