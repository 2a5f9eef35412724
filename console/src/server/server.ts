import { connect, isStatusError, type ServerConnection } from '@svc/client';
import { Observable } from './observable.ts';

export interface SessionUser {
  id: string;
  username: string;
  name: string;
}

/**
 * `none`: nobody is logged in. `expired`: somebody was, and the page still shows what that person was doing.
 */
export type SessionState = { name: 'checking' } | { name: 'none' } | { name: 'user' | 'expired'; user: SessionUser };

const currentSession = '/api/v1/authentication/sessions/current/';

export const session = new Observable<SessionState>({ name: 'checking' });

/** What the server warned of since the last write began: unknown fields that it dropped, for example. */
export const warnings = new Observable<readonly string[]>([]);

/** How often the server has answered 403: the rights of the user may be others than those that are shown. */
export const refusals = new Observable(0);

/** Notices that the session has ended, and that something was refused. */
const sessionFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (response.status === 401) expireSession();
  if (response.status === 403) refusals.set(refusals.get() + 1);
  return response;
};

/** The server that this page comes from, asked with the session of the browser. */
export const server: ServerConnection = connect({
  fieldManager: 'svc-console',
  warn: (text) => warnings.set([...warnings.get(), text]),
  fetch: sessionFetch,
});

/** A path that answers with text, whatever its status. @throws TypeError if there is no answer, or the signal's reason */
export async function readText(path: string, signal: AbortSignal): Promise<{ status: number; text: string }> {
  const response = await sessionFetch(path, { signal });
  return { status: response.status, text: await response.text() };
}

function expireSession(): void {
  const state = session.get();
  if (state.name === 'user') session.set({ name: 'expired', user: state.user });
}

/** @throws StatusError if the server cannot say who is logged in */
export async function checkSession(): Promise<void> {
  try {
    const { user } = (await server.read(currentSession)) as { user: SessionUser };
    session.set({ name: 'user', user });
  } catch (error) {
    if (!isStatusError(error, 'Unauthorized')) throw error;
    session.set({ name: 'none' });
  }
}

/** @throws StatusError 400 for a wrong password, or a locked account */
export async function logIn(username: string, password: string): Promise<void> {
  const { user } = await server.login({ username, password });
  session.set({ name: 'user', user });
}

/** @throws StatusError */
export async function logOut(): Promise<void> {
  await server.logout();
  session.set({ name: 'none' });
}
