/** As much of a MessagePort as the feeds need. */
export interface FeedPort {
  postMessage(message: unknown, transfer: []): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  start(): void;
  close(): void;
}
