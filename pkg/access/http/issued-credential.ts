import type { IncomingHttpHeaders } from 'node:http';

/** Called for a new credential, with the header that carries it and its user's id. Must not throw. */
export type OnIssue = (headers: Pick<IncomingHttpHeaders, 'authorization' | 'cookie'>, userId: string) => void;
