//! Tokens into a tree. Pure.

use std::{iter::Peekable, slice::Iter};

use super::{
    DEEPEST, Fault,
    lex::{Misread, Token, What},
    tree::{Branch, Command, Function, Kind, Node, Operand, Pipeline},
};

/// Words of Go's language and functions of its library that are not taken.
const NOT_TAKEN: &[&str] = &[
    "define", "block", "template", "break", "continue", "nil", "and", "or", "not", "call", "html",
    "js", "println", "slice", "urlquery",
];

/// What the tokens of a text of `length` bytes mean.
pub(super) fn nodes(tokens: &[Token], length: usize) -> Result<Vec<Node>, Misread> {
    let mut parser = Parser {
        tokens: tokens.iter().peekable(),
        length,
        depth: 0,
    };
    let (nodes, ended) = parser.list()?;
    match ended {
        None => Ok(nodes),
        Some((at, _)) => Err((at, Fault::Blockless)),
    }
}

/// What ended a list of nodes, before the rest of its action was read.
#[derive(PartialEq)]
enum End {
    Else,
    End,
}

/// Nodes, and what ended them with where its action begins; nothing at the end of the text.
type List = (Vec<Node>, Option<(usize, End)>);

struct Parser<'t> {
    tokens: Peekable<Iter<'t, Token>>,
    length: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    /// Where the next token stands.
    fn here(&mut self) -> usize {
        let length = self.length;
        self.tokens.peek().map_or(length, |token| token.at)
    }

    fn next_if(&mut self, what: &What) -> bool {
        self.tokens.next_if(|token| token.what == *what).is_some()
    }

    fn next_word(&mut self, word: &str) -> bool {
        let is_it = |token: &&Token| matches!(&token.what, What::Word(name) if name == word);
        self.tokens.next_if(is_it).is_some()
    }

    /// Reads with `read` one level deeper.
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Misread>,
    ) -> Result<T, Misread> {
        if self.depth == DEEPEST {
            return Err((self.here(), Fault::Deep));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Nodes up to the end of the text, or up to an `end` or `else`.
    fn list(&mut self) -> Result<List, Misread> {
        let mut nodes = Vec::new();
        while let Some(token) = self.tokens.next() {
            if let What::Text(text) = &token.what {
                nodes.push(Node::Text(text.clone()));
            } else if self.next_word("end") {
                return Ok((nodes, Some((token.at, End::End))));
            } else if self.next_word("else") {
                return Ok((nodes, Some((token.at, End::Else))));
            } else {
                nodes.push(self.action(token.at)?);
            }
        }
        Ok((nodes, None))
    }

    /// The rest of an action that began at `opened`, and of the block it begins.
    fn action(&mut self, opened: usize) -> Result<Node, Misread> {
        let kind = [
            ("if", Kind::If),
            ("with", Kind::With),
            ("range", Kind::Range),
        ]
        .into_iter()
        .find(|(word, _)| self.next_word(word));
        if let Some((_, kind)) = kind {
            return self
                .deeper(|parser| parser.block(kind, opened))
                .map(Node::Block);
        }
        let pipeline = self.pipeline()?;
        self.close()?;
        Ok(Node::Print(pipeline))
    }

    /// A block behind its keyword.
    fn block(&mut self, kind: Kind, opened: usize) -> Result<Branch, Misread> {
        let pipeline = self.pipeline()?;
        self.close()?;
        let (body, ended) = self.list()?;
        let (at, end) = ended.ok_or((opened, Fault::Block))?;
        let mut otherwise = Vec::new();
        if end == End::Else {
            if kind == Kind::If && self.next_word("if") {
                // It shares the `end` of the whole.
                let nested = self.deeper(|parser| parser.block(Kind::If, at))?;
                otherwise.push(Node::Block(nested));
                return Ok(Branch {
                    kind,
                    pipeline,
                    body,
                    otherwise,
                });
            }
            self.close()?;
            let (nodes, ended) = self.list()?;
            let (at, end) = ended.ok_or((opened, Fault::Block))?;
            if end == End::Else {
                return Err((at, Fault::Blockless));
            }
            otherwise = nodes;
        }
        self.close()?;
        Ok(Branch {
            kind,
            pipeline,
            body,
            otherwise,
        })
    }

    fn close(&mut self) -> Result<(), Misread> {
        if self.next_if(&What::Close) {
            Ok(())
        } else {
            Err((self.here(), Fault::Stray))
        }
    }

    fn pipeline(&mut self) -> Result<Pipeline, Misread> {
        let begun = self.here();
        let mut commands = vec![self.command()?];
        while self.next_if(&What::Pipe) {
            let at = self.here();
            let command = self.command()?;
            if matches!(command, Command::Value(_)) {
                return Err((at, Fault::Stage));
            }
            commands.push(command);
        }
        Ok(Pipeline {
            at: begun,
            commands,
        })
    }

    fn command(&mut self) -> Result<Command, Misread> {
        let at = self.here();
        let Some(function) = self.function()? else {
            let value = self.operand()?.ok_or((at, Fault::Missing))?;
            let behind = self.here();
            return match self.operand()? {
                None => Ok(Command::Value(value)),
                Some(_) => Err((behind, Fault::Argument)),
            };
        };
        let mut operands = Vec::new();
        loop {
            let spaced = self.tokens.peek().is_none_or(|token| token.spaced);
            let at = self.here();
            match self.operand()? {
                None => return Ok(Command::Call(function, operands)),
                Some(_) if !spaced => return Err((at, Fault::Space)),
                Some(operand) => operands.push(operand),
            }
        }
    }

    /// The function a command begins with.
    fn function(&mut self) -> Result<Option<Function>, Misread> {
        let Some((at, word)) = self.next_name() else {
            return Ok(None);
        };
        let unknown = || {
            let known = NOT_TAKEN.iter().find(|known| **known == word);
            known.map_or(Fault::Function, |known| Fault::Unsupported(known))
        };
        match Function::named(word) {
            Some(function) => Ok(Some(function)),
            None => Err((at, unknown())),
        }
    }

    /// The word that stands here, unless it is a value.
    fn next_name(&mut self) -> Option<(usize, &'t str)> {
        let token = self.tokens.peek()?;
        match &token.what {
            What::Word(word) if word != "true" && word != "false" => {
                let found = (token.at, word.as_str());
                self.tokens.next();
                Some(found)
            }
            _ => None,
        }
    }

    /// The value that stands here.
    fn operand(&mut self) -> Result<Option<Operand>, Misread> {
        let Some(token) = self.tokens.peek().copied() else {
            return Ok(None);
        };
        let operand = match &token.what {
            What::Data(place) => Operand::Data(place.clone()),
            What::Quoted(text) => Operand::Text(text.clone()),
            What::Number(number) => Operand::Number(*number),
            What::Word(word) if word == "true" || word == "false" => Operand::Flag(word == "true"),
            What::Word(_) => return Err((token.at, Fault::Bare)),
            What::LeftParenthesis => return self.group(token.at).map(Some),
            What::Text(_) | What::Open | What::Close | What::Pipe | What::RightParenthesis => {
                return Ok(None);
            }
        };
        self.tokens.next();
        Ok(Some(operand))
    }

    fn group(&mut self, opened: usize) -> Result<Operand, Misread> {
        self.tokens.next();
        let pipeline = self.deeper(Self::pipeline)?;
        if !self.next_if(&What::RightParenthesis) {
            return Err((opened, Fault::Parenthesis));
        }
        Ok(Operand::Group(pipeline))
    }
}
