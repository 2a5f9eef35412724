import { isStatusError, type AnyObject, type IndexTypes } from '#pkg/apimachinery/index';
import { RequestSender, type OutgoingCall, type RequestSenderOptions } from './request/sender.ts';
import { Resource, type CallOptions, type WebModel } from './resource/resource.ts';

export interface ServerConnectOptions extends RequestSenderOptions {
  /** Where access management is, for `login` and `logout`. Default: `url`. */
  accessUrl?: string;
}

export interface PathReadOptions extends CallOptions {
  query?: URLSearchParams;
  /** Default `application/json`. */
  accept?: string;
}

export interface PathSendOptions extends Omit<PathReadOptions, 'accept'>, Pick<OutgoingCall, 'body'> {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
}

export interface LoginSession {
  user: { id: string; username: string; name: string };
}

export interface ServerConnection {
  /** The objects of a model, in one namespace, or in all without one. */
  resource<T extends AnyObject, Indexes extends IndexTypes = IndexTypes>(
    model: WebModel<T, Indexes>,
    options?: { namespace?: string },
  ): Resource<T, Indexes>;
  /** The JSON of any path of the server: discovery, a table, a document. @throws StatusError for every failure */
  read(path: string, options?: PathReadOptions): Promise<unknown>;
  /**
   * Writes to any path of the server: access management, an endpoint of a plugin. The JSON of the answer, undefined if
   * it has none. It is sent once, without an Idempotency-Key. @throws StatusError for every failure
   */
  send(path: string, options: PathSendOptions): Promise<unknown>;
  /** Begins a session, whose cookies the browser keeps. @throws StatusError 400 for a wrong password, or a locked account */
  login(credentials: { username: string; password: string }): Promise<LoginSession>;
  /**
   * Who has the session of the browser, if anybody has. From then on, as after `login`, the server refuses to answer this
   * connection for another session.
   */
  currentSession(): Promise<LoginSession | undefined>;
  /** Ends the session, if there is one. */
  logout(): Promise<void>;
}

const sessions = '/api/v1/authentication/sessions/';

/** Connects to a server; sends nothing yet. */
export function connect({ accessUrl: url, ...options }: ServerConnectOptions = {}): ServerConnection {
  const sender = new RequestSender(options);
  const keepTo = async (call: OutgoingCall): Promise<LoginSession> => {
    const { csrf_token: token, user } = (await sender.json(call)) as LoginSession & { csrf_token: string };
    sender.csrfToken = token;
    return { user };
  };
  const noSession = (error: unknown): undefined => {
    if (!isStatusError(error, 'Unauthorized')) throw error;
  };
  return {
    resource: (model, { namespace } = {}) => new Resource(sender, model, namespace),
    read: (path, call) => sender.json({ method: 'GET', path, ...call }),
    send: (path, call) => sender.json({ path, ...call, isRepeatable: false }),
    login: (body) => keepTo({ method: 'POST', url, path: sessions, body, isRepeatable: false }),
    currentSession: () => {
      sender.csrfToken = undefined;
      return keepTo({ method: 'GET', url, path: `${sessions}current/` }).catch(noSession);
    },
    logout: async () => {
      await sender.json({ method: 'DELETE', url, path: sessions, isRepeatable: false }).catch(noSession);
      sender.csrfToken = undefined;
    },
  };
}
