import type { AnswerHeaders } from '#pkg/http/index';
import type { AccessResponse, Call } from '../../operations/operation.ts';
import { doneNote, problemNote, type Problems } from '../form-fields.ts';
import { html, type Html } from '../html.ts';
import { pageAnswer } from '../page.ts';
import { pageUserOf } from './settings-operation.ts';

/** The settings pages by path. */
const sections = {
  '/settings/': 'Profile',
  '/settings/password/': 'Password',
  '/settings/access-keys/': 'Access keys',
  '/settings/personal-tokens/': 'Personal tokens',
  '/settings/sessions/': 'Sessions',
} as const;

export type SettingsPath = keyof typeof sections;

/** Why a page is shown again. */
export interface PageOutcome {
  status?: number;
  problems?: Problems;
  headers?: AnswerHeaders;
}

export interface SettingsPageOptions extends PageOutcome {
  path: SettingsPath;
  body: Html;
  /** Messages about completed actions, by the value of the query parameter. */
  done?: Readonly<Record<string, string>>;
}

/** A settings page, with links to the others. */
export function settingsPage(
  call: Call,
  { path, body, done = {}, status = 200, problems, headers }: SettingsPageOptions,
): AccessResponse {
  const word = call.query.get('done') ?? '';
  const isDone = problems === undefined && Object.hasOwn(done, word);
  return pageAnswer({
    status,
    title: sections[path],
    navigation: navigationOf(path, call),
    user: pageUserOf(call),
    isProblem: problems !== undefined,
    body: html`${doneNote(isDone ? done[word] : undefined)}${problemNote(problems)}${body}`,
    ...(headers === undefined ? {} : { headers }),
  });
}

function navigationOf(here: SettingsPath, { request }: Call): Html {
  return html`<nav aria-label="Settings"><ul>
${Object.entries(sections).map(([path, name]) => html`<li><a href="${path}" ${path === here && html`aria-current="page"`}>${name}</a></li>`)}${
    // The platform has it, next to the console.
    request.isAtPlatform && html`<li><a href="/uc/">User center</a></li>`
  }
</ul></nav>`;
}
