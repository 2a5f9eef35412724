/** The first message to a page, with the port of all others. */
export const pageProtocol = 'svc page 1';

/** How the host looks: a page that looks the same belongs to it. */
export interface PageLook {
  scheme: 'light' | 'dark';
  /** A language tag. */
  language: string;
  /** Custom properties of CSS: `--text` and others. */
  colors: Readonly<Record<string, string>>;
}

/** An object whose tab a page is, or that a user has chosen for an action. */
export interface FrameObject {
  apiVersion: string;
  kind: string;
  /** Absent for a model without namespaces. */
  namespace?: string;
  name: string;
}

export interface PageRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
}

export type MessageToHost =
  | ({ type: 'request'; id: number } & PageRequest)
  /** A part of the answer has been read: another one may come. */
  | { type: 'more'; id: number }
  | { type: 'abort'; id: number }
  | { type: 'height'; pixels: number }
  | { type: 'place'; place: string }
  | { type: 'unsaved'; isUnsaved: boolean }
  /** The user has pressed Ctrl K, which opens the palette of the host. */
  | { type: 'palette' }
  | { type: 'close' }
  | { type: 'alive' };

export type MessageToPage =
  | { type: 'answer'; id: number; status: number; headers: readonly [string, string][]; hasBody: boolean }
  | { type: 'part'; id: number; bytes: Uint8Array }
  /** Without a failure the answer is whole. */
  | { type: 'end'; id: number; failure?: string }
  | { type: 'look'; look: PageLook }
  | { type: 'place'; place: string }
  | { type: 'ask' };

/** How many parts of an answer may be under way. */
export const partWindow = 8;

/** As much of a MessagePort as both sides need. */
export interface PagePort {
  postMessage(message: unknown, transfer: []): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  start(): void;
  close(): void;
}
