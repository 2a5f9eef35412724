import { en } from './en.ts';

/** What every language has. A language is a file next to `en.ts` of this type, and an entry of `languages`. */
export type Texts = typeof en;

const languages: Readonly<Record<string, Texts>> = { en };

/** The texts of the first language that the user reads and that there is. */
export const texts: Texts =
  navigator.languages.map((tag) => languages[tag.split('-')[0]!]).find((found) => found !== undefined) ?? en;

const dateAndTime = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium', timeStyle: 'medium' });
const time = new Intl.DateTimeFormat(texts.language, { timeStyle: 'medium' });

/** A timestamp as the server writes it. */
export function formatDate(timestamp: string): string {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? timestamp : dateAndTime.format(date);
}

export function formatTime(date: Date): string {
  return time.format(date);
}
