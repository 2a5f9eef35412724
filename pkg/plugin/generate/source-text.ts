/**
 * Characters that are invisible or ambiguous: control and format characters, unpaired surrogates, separators of lines
 * and paragraphs.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A string literal of exactly this text, with invisible characters escaped. */
export function stringLiteral(text: string): string {
  const body = JSON.stringify(text).slice(1, -1);
  const shown = body.replaceAll(invisible, (character) =>
    Array.from(
      { length: character.length },
      (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
  return `'${shown.replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`;
}

/** A property name, quoted if necessary. */
export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : stringLiteral(name);
}

/**
 * A documentation comment with its line feed; '' if all texts are empty. No text can end the comment or contain a
 * compiler directive.
 */
export function docComment(texts: readonly (string | undefined)[], indent = ''): string {
  const lines = texts.flatMap((text) => (text ?? '').split(/\r\n|[\n\r\u2028\u2029]/)).map(commentLine);
  while (lines.length > 0 && lines.at(-1) === '') lines.pop();
  while (lines.length > 0 && lines[0] === '') lines.shift();
  if (lines.length === 0) return '';
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`, ''].join('\n');
}

function commentLine(line: string): string {
  const visible = line.replaceAll('\t', '  ').replaceAll(invisible, '').trimEnd();
  return visible
    .replaceAll('*/', String.raw`*\/`)
    .replaceAll('@ts-', '@ ts-')
    .replaceAll('sourceMappingURL', 'sourceMapping URL');
}
