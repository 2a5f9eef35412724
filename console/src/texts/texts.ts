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

const age = new Intl.RelativeTimeFormat(texts.language, { style: 'narrow', numeric: 'always' });

const ageUnits: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** How long ago, in its largest whole unit. `now` is in milliseconds; a clock that is behind says 0 seconds. */
export function formatAge(timestamp: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(timestamp)) / 1000);
  if (Number.isNaN(seconds)) return timestamp;
  const [unit, size] = ageUnits.find((each) => seconds >= each[1]) ?? ['second', 1];
  return age.format(-Math.floor(seconds / size), unit);
}

const short = new Intl.NumberFormat(texts.language, { maximumFractionDigits: 1 });
const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function formatBytes(size: number): string {
  const power = Math.min(byteUnits.length - 1, Math.floor(Math.log2(Math.max(1, size)) / 10));
  return `${short.format(size / 1024 ** power)} ${byteUnits[power]}`;
}

/** Seconds, and milliseconds below one. */
export function formatDuration(seconds: number): string {
  return seconds < 1 ? `${short.format(seconds * 1000)} ms` : `${short.format(seconds)} s`;
}

const dateOnly = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium' });
const minutes = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium', timeStyle: 'short' });
const dayMs = 86_400_000;

/** From one moment up to another, in milliseconds; without the time of day where both are midnights. */
export function formatTimeRange(from: number, to: number): string {
  if (to - from <= dayMs) return (to - from < dayMs ? minutes : dateOnly).format(from);
  return dateOnly.formatRange(from, to - 1);
}
