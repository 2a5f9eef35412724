import type { JsonObject, JsonValue } from '../meta/object.ts';
import { numberText } from './value-rules.ts';
import { yamlBlock, yamlScalar } from './yaml-scalar.ts';

const step = '  ';
/** The longest key before a colon; a longer one starts with a question mark. Source: YAML 1.2, 7.4.2. */
const maxSimpleKeyLength = 1024;

/**
 * A value as one YAML 1.2 document, ending in a newline, for `Accept: application/yaml`: in block style, about as fast
 * as JSON. Lines are never folded, there are no aliases, and texts that YAML 1.1 reads differently are quoted, so that
 * every reader sees the same value. `value` is a result of `decodeJson`: at most 100 levels deep.
 */
export function encodeYaml(value: JsonValue): string {
  const writer = new YamlWriter();
  writer.write(value, '', '');
  return writer.text;
}

class YamlWriter {
  text = '';

  /** Writes a value; `lead` is the start of its first line, `indent` that of the others. */
  write(value: JsonValue, lead: string, indent: string): void {
    if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
      if (Array.isArray(value)) this.#list(value, lead, indent);
      else this.#map(value, lead, indent);
    } else {
      this.text += lead;
      this.#inline(value, indent);
    }
  }

  #list(list: JsonValue[], lead: string, indent: string): void {
    const inner = indent + step;
    let before = lead;
    for (const item of list) {
      this.write(item, `${before}- `, inner);
      before = indent;
    }
  }

  #map(map: JsonObject, lead: string, indent: string): void {
    const inner = indent + step;
    let before = lead;
    for (const key of Object.keys(map)) {
      const value = map[key]!;
      const name = yamlScalar(key);
      if (name.length > maxSimpleKeyLength) {
        this.text += `${before}? ${name}\n`;
        this.write(value, `${indent}: `, inner);
      } else if (isFilled(value)) {
        this.text += `${before}${name}:\n`;
        this.write(value, inner, inner);
      } else {
        this.text += `${before}${name}: `;
        this.#inline(value, indent);
      }
      before = indent;
    }
  }

  /** A value that starts on the current line: a scalar, or an empty list or map. */
  #inline(value: JsonValue, indent: string): void {
    if (typeof value === 'string') this.text += `${yamlBlock(value, indent + step) ?? yamlScalar(value)}\n`;
    else this.text += `${typeof value === 'number' ? numberText(value) : JSON.stringify(value)}\n`;
  }
}

function isFilled(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}
