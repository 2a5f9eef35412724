import type { JsonObject, JsonValue } from '@svc/client';
import { parseAllDocuments, parseDocument, stringify } from 'yaml';

/** A text that is not what it should be; `message` says where and why. */
export class TextFault extends Error {}

export function toYaml(value: JsonValue): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** @throws TextFault */
export function parseYaml(text: string): JsonValue {
  const document = parseDocument(text, { uniqueKeys: true, logLevel: 'silent' });
  const [error] = document.errors;
  if (error !== undefined) throw new TextFault(error.message);
  return document.toJS({ maxAliasCount: 100 }) as JsonValue;
}

/** Every document of the text that is not empty. @throws TextFault for anything but objects */
export function parseObjects(text: string): JsonObject[] {
  const documents = parseAllDocuments(text, { uniqueKeys: true, logLevel: 'silent' });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new TextFault(error.message);
    const value = document.toJS({ maxAliasCount: 100 }) as JsonValue;
    if (value === null) return [];
    if (typeof value !== 'object' || Array.isArray(value)) throw new TextFault('a document is no object');
    return [value];
  });
}
