import { Document, visit } from 'yaml';

import type { JsonValue } from '../meta/object.ts';

/**
 * A value as one YAML 1.2 document, ending in a newline, for `Accept: application/yaml`.
 * Lines are never folded and nothing is aliased, so that other YAML readers see the same value.
 */
export function encodeYaml(value: JsonValue): string {
  const document = new Document(value, { version: '1.2', schema: 'core', aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === 'string' && needsQuotes(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  const text = document.toString({ lineWidth: 0, blockQuote: 'literal', doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER });
  // No style of the package escapes a byte order mark, which readers drop. JSON is YAML too, and can.
  return text.includes('\uFEFF') ? `${JSON.stringify(value, null, 2).replaceAll('\uFEFF', '\\ufeff')}\n` : text;
}

/** Text that older readers, of YAML 1.1, would take for a boolean, a number or a time. */
const yaml11Literal = /^(?:[yn]|yes|no|on|off|[-+]?0[0-7_]+|[-+]?0b[01_]+|[-+]?\d[\d_]*(?:[.:][\d_:.]*)?|\d{4}-\d\d?-\d\d?.*|=|<<)$/i;

/** Block scalars lose carriage returns, and the package mistakes their indentation where the text begins with white space. */
function needsQuotes(text: string): boolean {
  return yaml11Literal.test(text) || text.includes('\r') || (text.includes('\n') && /^\s/.test(text));
}
