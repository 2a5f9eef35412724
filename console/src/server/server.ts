import { connect, type ServerConnection } from '@svc/client';
import { feeds } from './feeds.ts';
import { Observable } from './observable.ts';

export interface SessionUser {
  id: string;
  username: string;
  name: string;
}

/**
 * `unknown`: the server cannot say. `none`: nobody is logged in. `expired`: somebody was, and the page still shows what
 * that person was doing.
 */
export type SessionState =
  | { name: 'checking' }
  | { name: 'unknown'; failure: unknown }
  | { name: 'none' }
  | { name: 'user' | 'expired'; user: SessionUser };

export const session = new Observable<SessionState>({ name: 'checking' });

/** How often the server has answered 403: the rights of the user may be others than those that are shown. */
export const refusals = new Observable(0);

const sessionFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (response.status === 401 || response.status === 403) noteRefusal(response.status);
  return response;
};

/** The server that this page comes from, asked with the session of the browser. */
export const server: ServerConnection = connect({
  fieldManager: 'svc-console',
  fetch: sessionFetch,
  feeds,
});

/** A path that answers with text, whatever its status. @throws TypeError if there is no answer, or the signal's reason */
export async function readText(path: string, signal: AbortSignal): Promise<{ status: number; text: string }> {
  const response = await sessionFetch(path, { signal });
  return { status: response.status, text: await response.text() };
}

/** The session may have ended, or another one begun in another tab, which all tabs of the browser then have. */
export function noteRefusal(status: number): void {
  if (status === 403) refusals.set(refusals.get() + 1);
  const state = session.get();
  if (csrfCookie() !== shownCsrfCookie) void checkAgain();
  else if (status === 401 && state.name === 'user') session.set({ name: 'expired', user: state.user });
}

/** A stream tells of a refusal later, perhaps after a login: whether the session has ended says the server. */
export function noteStreamRefusal(status: number): void {
  if (status === 401 && session.get().name === 'user') void checkAgain();
  else noteRefusal(status);
}

/** As it was when the session that the page shows was asked for. */
let shownCsrfCookie: string | undefined;

/** Has the browser had a session, which may still be there? */
export function mayHaveSession(): boolean {
  return csrfCookie() !== undefined;
}

function csrfCookie(): string | undefined {
  return /(?:^|;\s*)svc_csrftoken=([^;]*)/.exec(document.cookie)?.[1];
}

/** Another person must not look at what the page shows. */
document.addEventListener('visibilitychange', () => {
  const { name } = session.get();
  const isShown = name === 'user' || name === 'expired';
  if (!document.hidden && isShown && csrfCookie() !== shownCsrfCookie) void checkAgain();
});

async function checkAgain(): Promise<void> {
  try {
    await checkSession();
  } catch {
    // Without a server nobody can say: the next refusal asks again.
    shownCsrfCookie = undefined;
  }
}

/** @throws StatusError if the server cannot say who is logged in */
export async function checkSession(): Promise<void> {
  shownCsrfCookie = csrfCookie();
  const known = session.get();
  // Both cookies of a session come and go together: without them nobody is logged in, and nobody needs to be asked.
  const current = mayHaveSession() ? await server.currentSession() : undefined;
  if (current !== undefined) session.set({ name: 'user', user: current.user });
  else if (known.name === 'user' || known.name === 'expired') session.set({ name: 'expired', user: known.user });
  else session.set({ name: 'none' });
}

/** @throws StatusError 400 for a wrong password, or a locked account */
export async function logIn(username: string, password: string): Promise<void> {
  const { user } = await server.login({ username, password });
  shownCsrfCookie = csrfCookie();
  session.set({ name: 'user', user });
}

/** @throws StatusError */
export async function logOut(): Promise<void> {
  await server.logout();
  session.set({ name: 'none' });
}
