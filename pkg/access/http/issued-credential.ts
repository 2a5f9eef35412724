import type { IncomingHttpHeaders } from 'node:http';

/** A credential was made: the header that brings it, and its user's id. Must not throw. */
export type OnIssue = (headers: Pick<IncomingHttpHeaders, 'authorization' | 'cookie'>, userId: string) => void;
