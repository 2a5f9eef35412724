import { readFile } from 'node:fs/promises';

export interface Section {
  readonly heading: string;
  /** As one line, so that a sentence is not broken. */
  readonly text: string;
}

export interface Runbook {
  /** The metrics in the tables, with what the page says of each. */
  readonly metrics: ReadonlyMap<string, string>;
  /** One for each alert, in order. */
  readonly alerts: readonly Section[];
  /** The exercises. */
  readonly drills: readonly Section[];
}

const codeSpan = /`([^`]+)`/g;
/** The one form in which the page quotes a message; `...` stands for what varies. */
const quotedMessage = /\blogs? (?:says?|ends with) `([^`]+)`/g;

export async function readRunbook(): Promise<Runbook> {
  return parseRunbook(await readFile(new URL('../../../../docs/runbook.md', import.meta.url), 'utf8'));
}

export function parseRunbook(page: string): Runbook {
  const rows = page.matchAll(
    /^\| (`(?:http|db|svc|controller_runtime|workqueue|leader|process|nodejs)_[^|]*)\|(.*)$/gm,
  );
  const metrics = [...rows].flatMap(([, names, about]) =>
    [...names!.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => [name!, about!] as const),
  );
  const chapters = new Map(page.split(/^## /m).map((chapter) => [chapter.split('\n', 1)[0]!, chapter]));
  return {
    metrics: new Map(metrics),
    alerts: sectionsOf(chapters.get('Alerts')),
    drills: sectionsOf(chapters.get('Drills')),
  };
}

function sectionsOf(chapter = ''): Section[] {
  const [, ...sections] = chapter.split(/^### /m);
  return sections.map((section) => {
    const [heading, ...lines] = section.split('\n');
    return { heading: heading!, text: lines.join(' ').replaceAll(/\s+/g, ' ').trim() };
  });
}

/** The texts in code format. */
export function codeSpansOf({ text }: Section): string[] {
  return [...text.matchAll(codeSpan)].map(([, span]) => span!);
}

/** The messages that the section says are in the log. */
export function quotedMessagesOf({ text }: Section): string[] {
  return [...text.matchAll(quotedMessage)].map(([, message]) => message!);
}

/** The section's text without code. */
export function withoutCode({ text }: Section): string {
  return text.replaceAll(codeSpan, '');
}

export function withoutQuotedMessages({ heading, text }: Section): Section {
  return { heading, text: text.replaceAll(quotedMessage, '') };
}
