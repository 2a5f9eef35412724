import { html, type Html } from './html.ts';

const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** `20 Nov 2026, 17:48 UTC`; `never` if there is no time. */
export function timeElement(time: Date | string | null | undefined): Html {
  if (time === null || time === undefined) return html`never`;
  const date = new Date(time);
  return html`<time datetime="${date.toISOString()}">${format.format(date)} UTC</time>`;
}
