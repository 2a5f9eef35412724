import type { JsonObject } from '@svc/client';
import { toYaml } from '../editor/yaml-text.ts';

/** What somebody writes: an object, or a text that may be one. */
export interface EditorDraft {
  /** Undefined for a text that was typed. */
  readonly object: JsonObject | undefined;
  /** The YAML. That of an object is written when it is first asked for: for a long one it takes some time. */
  readonly text: string;
}

export function draftOf(object: JsonObject): EditorDraft {
  let text: string | undefined;
  return {
    object,
    get text() {
      text ??= toYaml(object);
      return text;
    },
  };
}

export function typedDraft(text: string): EditorDraft {
  return { object: undefined, text };
}

export function isSameDraft(a: EditorDraft, b: EditorDraft): boolean {
  if (a === b) return true;
  if (a.object === undefined || b.object === undefined) return a.text === b.text;
  return JSON.stringify(a.object) === JSON.stringify(b.object);
}
