# SPDX-License-Identifier: LGPL-2.1-or-later
"""mutants.py - the changes that can be made to a C or C++ source.

A source is cut into tokens; within the bodies of its functions every place
that one of the kinds below fits is a site.  Nothing is parsed further: what
does not compile is found by the compiler, and is not counted.

  relational   < and <=, > and >=, == and != for each other
  logical      && and || for each other
  arithmetic   + and -, | and & and the like for each other
  offbyone     an integer literal, one larger
  negate       the condition of an if or while, or a ! that is there
  statement    an expression statement, break or continue removed
  lock         a lock removed, with the unlocks that belong to it
  return       a return before a statement, or of the other truth value
  swap         two neighbouring arguments of a call
"""
import bisect
import re

KINDS = ("relational", "logical", "arithmetic", "offbyone", "negate",
         "statement", "lock", "return", "swap")

TOKEN = re.compile(r"""
    (?P<blank>\s+|\\\n)
  | (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9a-zA-Z_.'])*)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||
        \+=|-=|\*=|/=|%=|&=|\|=|\^=|::|[-+*/%&|^~!<>=?:;,.(){}\[\]\#@\\])
""", re.VERBOSE | re.DOTALL)

RELATIONAL = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=",
              "!=": "=="}
LOGICAL = {"&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "|": "&",
              "&": "|", "^": "|", "<<": ">>", ">>": "<<", "+=": "-=",
              "-=": "+=", "|=": "&=", "&=": "|="}

NOT_A_STATEMENT = {
    "return", "goto", "case", "default", "if", "else", "for", "while", "do",
    "switch", "try", "catch", "throw", "typedef", "static", "const",
    "constexpr", "struct", "enum", "union", "class", "using", "namespace",
    "unsigned", "signed", "int", "char", "bool", "long", "short", "float",
    "double", "auto", "extern", "volatile", "template", "typename",
    "static_assert", "_Static_assert", "register", "thread_local"}
# Classes whose objects hold a lock as long as they live.
GUARDS = {"lock_guard", "unique_lock", "scoped_lock", "omni_mutex_lock",
          "omni_tracedmutex_lock", "Guard", "Lock"}
LOCK = re.compile(r"(^|_)lock$|^pthread_mutex_lock$")


class Token:
    __slots__ = ("kind", "text", "start", "end")

    def __init__(self, kind, text, start, end):
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end

    def __repr__(self):
        return "%s:%r" % (self.kind, self.text)


class Mutant:
    """One change: edits are (start, end, text) of the source, in order."""

    def __init__(self, source, kind, edits):
        self.path = source.path
        self.kind = kind
        self.edits = edits
        self.line = source.line_of(edits[0][0])
        first = source.line_start(edits[0][0])
        # A statement may have several lines: they are shown as one.  The
        # unlocks that go with a lock are not shown.
        shown = edits[:1] if kind == "lock" else edits
        last = source.line_end(max(shown[-1][1] - 1, shown[-1][0]))
        text = source.text
        self.before = squeeze(text[first:last])
        self.after = squeeze(replace(text[:last], shown)[first:])
        self.function = source.function_of(edits[0][0])

    def key(self):
        """What names it in the list of equivalents: no line number."""
        return "%s %s: %s -> %s" % (self.path, self.function, self.before,
                                    self.after)

    def where(self):
        return "%s:%d: %s: %s -> %s" % (self.path, self.line, self.kind,
                                        self.before, self.after)

    def apply(self, text):
        return replace(text, self.edits)


def replace(text, edits):
    for start, end, replacement in reversed(edits):
        text = text[:start] + replacement + text[end:]
    return text


def squeeze(text):
    return " ".join(re.sub(r"/\*.*?\*/|//[^\n]*", " ", text,
                           flags=re.DOTALL).split())


class Source:
    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.is_c = path.endswith(".c")
        self.newlines = [i for i, c in enumerate(text) if c == "\n"]
        self.tokens = self._tokens()
        self.pairs = self._pairs()
        self.bodies = self._bodies()

    # ---- text

    def line_of(self, at):
        return bisect.bisect_left(self.newlines, at) + 1

    def line_start(self, at):
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at):
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def _tokens(self):
        # A preprocessor line is blank here, with its continuations.
        text = re.sub(r"(?m)^[ \t]*#(?:\\\n|[^\n])*",
                      lambda m: re.sub(r"[^\n]", " ", m.group()), self.text)
        tokens = []
        at = 0
        while at < len(text):
            m = TOKEN.match(text, at)
            if m is None:
                raise ValueError("%s:%d: what is %r?" %
                                 (self.path, self.line_of(at), text[at]))
            if m.lastgroup not in ("blank", "comment"):
                tokens.append(Token(m.lastgroup, m.group(), at, m.end()))
            at = m.end()
        return tokens

    def _pairs(self):
        pairs = {}
        open_at = []
        for i, token in enumerate(self.tokens):
            if token.kind != "op":
                continue
            if token.text in "([{":
                open_at.append(i)
            elif token.text in ")]}":
                pairs[open_at[-1]] = i
                pairs[i] = open_at.pop()
        return pairs

    # ---- functions

    def _bodies(self):
        """(name, is_void, first token of the body, its closing brace)."""
        bodies = []
        i = 0
        while i < len(self.tokens):
            if self.tokens[i].text == "{" and self._opens_a_body(i):
                name, void = self._head(i)
                bodies.append((name, void, i + 1, self.pairs[i]))
                i = self.pairs[i]
            i += 1
        return bodies

    def _opens_a_body(self, brace):
        before = self.tokens[brace - 1].text if brace > 0 else ""
        return before in (")", "}", "const", "noexcept", "override")

    def _head(self, brace):
        """The name before the first ( since the last ; or } or {."""
        first = brace
        depth = 0
        while first > 0:
            text = self.tokens[first - 1].text
            if text in (")", "]"):
                first = self.pairs[first - 1]
                continue
            if text in (";", "{", "}", "public", "private"):
                # A brace of a member's initialiser is part of the head.
                if text == "}" and depth == 0 and \
                        self.tokens[self.pairs[first - 1] - 1].kind == "name" \
                        and self._is_initialiser(self.pairs[first - 1]):
                    first = self.pairs[first - 1]
                    continue
                break
            first -= 1
        i = first
        void = False
        while i < brace:
            token = self.tokens[i]
            if token.text == "__attribute__":
                i = self.pairs[i + 1] + 1
                continue
            if token.text == "void" and self.tokens[i + 1].text != "*":
                void = True
            if token.text == "(":
                name = self.tokens[i - 1].text
                at = i - 1
                while at >= 2 and self.tokens[at - 1].text in ("::", "~"):
                    at -= 1 if self.tokens[at - 1].text == "~" else 2
                    name = self.tokens[at].text + \
                        ("::" if self.tokens[at].kind == "name" else "") + name
                # A constructor or destructor returns nothing.
                parts = name.split("::")
                if "~" in name or (len(parts) > 1 and parts[-1] == parts[-2]):
                    void = True
                return name, void
            i += 1
        return "?", void

    def _is_initialiser(self, brace):
        i = brace
        while i > 0 and self.tokens[i].text not in (";", "}"):
            if self.tokens[i].text == ":":
                return True
            i -= 1
        return False

    def function_of(self, at):
        for name, _, first, last in self.bodies:
            if self.tokens[first - 1].start <= at <= self.tokens[last].end:
                return name
        return "?"

    # ---- sites

    def mutants(self):
        found = []
        for _, void, first, last in self.bodies:
            found += self._operators(first, last)
            found += self._conditions(first, last)
            found += self._statements(first, last, void)
            found += self._swaps(first, last)
        found = [Mutant(self, kind, edits) for kind, edits in found]
        found = [m for m in found if m.before != m.after or len(m.edits) > 1]
        found.sort(key=lambda m: (m.edits, m.kind))
        return found

    def _binary(self, i):
        """clang-format puts blanks around what is binary, only there."""
        token = self.tokens[i]
        if not (self.text[token.start - 1].isspace() and
                self.text[token.end].isspace()):
            return False
        return self.tokens[i - 1].kind != "op" or \
            self.tokens[i - 1].text in ")]"

    def _operators(self, first, last):
        for i in range(first, last):
            token = self.tokens[i]
            if token.kind == "op":
                for kind, table in (("relational", RELATIONAL),
                                    ("logical", LOGICAL),
                                    ("arithmetic", ARITHMETIC)):
                    if token.text in table and self._binary(i):
                        yield kind, [(token.start, token.end,
                                      table[token.text])]
            elif token.kind == "number":
                m = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)",
                                 token.text)
                if m and self.tokens[i - 1].text != "case" and \
                        not self._declares_array(i):
                    value = int(m.group(1), 0) + 1
                    text = hex(value) if m.group(1)[:2] in ("0x", "0X") \
                        else str(value)
                    yield "offbyone", [(token.start, token.end,
                                        text + m.group(2))]

    def _declares_array(self, i):
        """char buf[16]; is the compiler's matter."""
        return self.tokens[i - 1].text == "[" and i >= 3 and \
            self.tokens[i - 3].kind == "name" and \
            self.tokens[i - 3].text not in ("return", "else")

    def _conditions(self, first, last):
        for i in range(first, last):
            token = self.tokens[i]
            if token.text in ("if", "while") and \
                    self.tokens[i + 1].text == "(":
                end = self.tokens[self.pairs[i + 1]]
                start = self.tokens[i + 1]
                yield "negate", [(start.end, start.end, "!("),
                                 (end.start, end.start, ")")]
            elif token.text == "!" and token.kind == "op":
                yield "negate", [(token.start, token.end, "")]

    def _starts(self, first, last):
        """Indices of tokens at which a statement begins."""
        i = first
        starts = []
        fresh = True
        while i < last:
            token = self.tokens[i]
            if fresh:
                starts.append(i)
                fresh = False
            if token.text in (";", "{", "}", "else", "do"):
                fresh = not (token.text == "{" and self._is_value(i))
                if not fresh:
                    i = self.pairs[i]
            elif token.text in ("if", "while", "for", "switch", "catch") and \
                    self.tokens[i + 1].text == "(":
                i = self.pairs[i + 1]
                fresh = True
            elif token.text == ":" and self._is_label(i):
                fresh = True
            elif token.text in "([" and token.kind == "op":
                inner = self._lambda_body(i)
                i = inner if inner else self.pairs[i]
                fresh = bool(inner)
            i += 1
        return [i for i in starts if self.tokens[i].text not in "{};"]

    def _is_value(self, brace):
        """{1, 2} of an initialiser, T{} of an expression."""
        before = self.tokens[brace - 1]
        return before.text in ("=", ",", "(", "return", "]", ">") or \
            (before.kind == "name" and
             before.text not in ("else", "do", "try", "const", "noexcept",
                                 "mutable"))

    def _is_label(self, colon):
        i = colon - 1
        while i > 0 and self.tokens[i].text not in (";", "{", "}", "case",
                                                    "default", ":", "?"):
            i -= 1
        return self.tokens[i].text in ("case", "default")

    def _lambda_body(self, i):
        """The { of a lambda in these parentheses, or 0."""
        for j in range(i + 1, self.pairs[i]):
            if self.tokens[j].text == "{" and \
                    self.tokens[j - 1].text in (")", "]", "mutable") and \
                    not self._is_value(j):
                return j
        return 0

    def _statement_end(self, i):
        """The ; that ends the statement, or None: it holds a block."""
        while self.tokens[i].text != ";":
            if self.tokens[i].text in "([{" and self.tokens[i].kind == "op":
                i = self.pairs[i]
            elif self.tokens[i].text == "}":
                return None
            i += 1
        return i

    def _is_declaration(self, start, end):
        tokens = self.tokens
        i = start
        if tokens[i].kind != "name":
            return False
        while i < end and (tokens[i].kind == "name" or
                           tokens[i].text in ("::", "*", "&", "<", ">", ",")):
            if tokens[i].kind == "name" and tokens[i + 1].kind == "name":
                return True
            if tokens[i].text in ("*", "&", ">") and \
                    tokens[i + 1].kind == "name" and i > start and \
                    not self.text[tokens[i].end].isspace():
                return True
            if tokens[i].text == ">" and tokens[i + 1].kind == "name":
                return True
            if tokens[i].kind == "name" and \
                    tokens[i + 1].text not in ("::", "*", "&", "<"):
                return False
            i += 1
        return False

    def _statements(self, first, last, void):
        leave = "return;" if void else \
            "return 0;" if self.is_c else "return {};"
        for start in self._starts(first, last):
            token = self.tokens[start]
            end = self._statement_end(start)
            if end is None or end >= last:
                continue
            span = (token.start, self.tokens[end].end)
            if token.text in ("break", "continue"):
                yield "statement", [(*span, ";")]
            elif token.text == "return":
                if end == start + 2 and \
                        self.tokens[start + 1].text in ("true", "false"):
                    other = "false" if self.tokens[start + 1].text == "true" \
                        else "true"
                    yield "return", [(self.tokens[start + 1].start,
                                      self.tokens[start + 1].end, other)]
            elif self._is_guard(start, end):
                yield "lock", [(*span, ";")]
            elif token.text not in NOT_A_STATEMENT and \
                    not self._is_declaration(start, end):
                if token.kind == "name" and LOCK.search(token.text):
                    yield "lock", self._without_lock(start, end, last)
                elif token.text not in ("folb_unlock", "unlock"):
                    yield "statement", [(*span, ";")]
            else:
                continue
            if token.text != "return":
                yield "return", [(token.start, token.start,
                                  "{ " + leave + " "),
                                 (span[1], span[1], " }")]

    def _is_guard(self, start, end):
        tokens = self.tokens[start:end]
        if tokens[0].text == "std":
            tokens = tokens[2:]
        return bool(tokens) and tokens[0].text in GUARDS and \
            any(t.text in "({" for t in tokens)

    def _without_lock(self, start, end, last):
        """This lock and each unlock up to the next lock of the same."""
        name = self.tokens[start].text
        unlock = name[:-len("lock")] + "unlock"
        edits = [(self.tokens[start].start, self.tokens[end].end, ";")]
        i = end + 1
        while i < last and self.tokens[i].text != name:
            if self.tokens[i].text == unlock:
                stop = self._statement_end(i)
                edits.append((self.tokens[i].start, self.tokens[stop].end,
                              ";"))
                i = stop
            i += 1
        return edits

    def _swaps(self, first, last):
        for i in range(first, last):
            if self.tokens[i].kind != "name" or \
                    self.tokens[i + 1].text != "(" or \
                    self.tokens[i].text in ("if", "while", "for", "switch",
                                            "return", "sizeof", "catch"):
                continue
            arguments = self._arguments(i + 1)
            for (a, b), (c, d) in zip(arguments, arguments[1:]):
                one, two = self.text[a:b], self.text[c:d]
                if squeeze(one) != squeeze(two) and \
                        "{" not in one and "{" not in two:
                    yield "swap", [(a, d, two + self.text[b:c] + one)]

    def _arguments(self, opening):
        arguments = []
        closing = self.pairs[opening]
        i = first = opening + 1
        while i < closing:
            if self.tokens[i].text in "([{" and self.tokens[i].kind == "op":
                i = self.pairs[i]
            elif self.tokens[i].text == ",":
                arguments.append((first, i))
                first = i + 1
            i += 1
        if first < closing:
            arguments.append((first, closing))
        return [(self.tokens[a].start, self.tokens[b - 1].end)
                for a, b in arguments if a < b]
