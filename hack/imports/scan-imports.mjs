/**
 * The modules a TypeScript source names: import, import type, export from, import('...') as value and as type,
 * side-effect imports. TypeScript 7 has no parser to call, so this reads tokens: enough to tell code from comments,
 * texts, templates and regular expressions. An import() whose module is computed gives `undefined` as specifier.
 */
export function scanImports(source) {
  const tokens = tokenize(source);
  const imports = [];
  for (const [i, token] of tokens.entries()) {
    const [previous, next, afterNext] = [tokens[i - 1], tokens[i + 1], tokens[i + 2]];
    if (token.kind !== 'word' || previous?.text === '.') continue;
    if (token.text === 'from' && next?.kind === 'text') imports.push({ specifier: next.text, line: token.line });
    if (token.text !== 'import') continue;
    if (next?.kind === 'text') imports.push({ specifier: next.text, line: token.line });
    if (next?.text === '(' && !isDeclaration(tokens, i + 1))
      imports.push({ specifier: afterNext?.kind === 'text' ? afterNext.text : undefined, line: token.line });
  }
  return imports;
}

/** A method named import: `import(...) {` or `import(...): `. */
function isDeclaration(tokens, open) {
  let depth = 0;
  for (let i = open; i < tokens.length; i += 1) {
    if (tokens[i].text === '(' && tokens[i].kind === 'mark') depth += 1;
    if (tokens[i].text === ')' && tokens[i].kind === 'mark') depth -= 1;
    if (depth === 0) return tokens[i + 1]?.text === '{';
  }
  return false;
}

/** After these words a slash begins a regular expression. */
const beforeExpression = new Set([
  'return',
  'typeof',
  'case',
  'in',
  'of',
  'do',
  'else',
  'void',
  'delete',
  'await',
  'yield',
  'throw',
  'new',
  'instanceof',
]);

function tokenize(source) {
  const tokens = [];
  /** For each template we are in: how many braces are open in its substitution. */
  const templates = [];
  let line = 1;
  let at = 0;
  const take = (pattern) => {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    return match?.index === at ? match : undefined;
  };
  const move = (text) => {
    at += text.length;
    line += text.split('\n').length - 1;
  };
  const template = () => {
    const [body] = take(/(?:[^`\\$]|\\[^]|\$(?!\{))*/y);
    move(body);
    if (source.startsWith('${', at)) {
      templates.push(0);
      at += 2;
      tokens.push({ kind: 'mark', text: '(', line });
    } else at += 1;
  };
  while (at < source.length) {
    const blank = take(/\s+|\/\/[^\n]*|\/\*[^]*?\*\//y);
    if (blank) {
      move(blank[0]);
      continue;
    }
    const text = take(/'((?:[^'\\\n]|\\[^])*)'|"((?:[^"\\\n]|\\[^])*)"/y);
    const regexp = startsExpression(tokens.at(-1))
      ? take(/\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y)
      : undefined;
    const word = text ?? take(/[\p{ID_Start}$_#@][\p{ID_Continue}$]*|\d[\w.]*/uy);
    if (text) {
      tokens.push({ kind: 'text', text: text[1] ?? text[2], line });
      move(text[0]);
    } else if (word) {
      tokens.push({ kind: 'word', text: word[0], line });
      move(word[0]);
    } else if (source[at] === '`') {
      at += 1;
      template();
    } else if (regexp) {
      move(regexp[0]);
      tokens.push({ kind: 'regexp', text: '', line });
    } else {
      const mark = source[at];
      at += 1;
      if (mark === '{' && templates.length > 0) templates[templates.length - 1] += 1;
      if (mark === '}' && templates.length > 0) {
        if (templates.at(-1) === 0) {
          templates.pop();
          tokens.push({ kind: 'mark', text: ')', line });
          template();
          continue;
        }
        templates[templates.length - 1] -= 1;
      }
      tokens.push({ kind: 'mark', text: mark, line });
    }
  }
  return tokens;
}

function startsExpression(previous) {
  if (previous === undefined) return true;
  if (previous.kind === 'word') return beforeExpression.has(previous.text);
  return previous.kind === 'mark' && !')]}'.includes(previous.text);
}
