/** Why the server ends a watch: as planned, because the server is shutting down, or because its client is too slow. */
export type WatchEnd = 'over' | 'shutdown' | 'slow';

/** What carries the events of one watch: the body of an answer, or a WebSocket. */
export interface WatchOutput {
  /** Bytes that the client has not read, as far as they are not in the buffers of the system. */
  readonly unread: number;
  /** Should the sender wait for `onDrain`? */
  readonly needsDrain: boolean;
  /** Did the client answer nothing since the last `beat`? Undefined if it need not answer. */
  readonly isUnanswered: boolean | undefined;
  /** Sends the head of the answer. Call it once, before anything is written. */
  begin(): void;
  /** One event. */
  write(event: Buffer): void;
  /** Gives what was written to the operating system at once. */
  flush(): void;
  /** Keeps the connection alive. `isSilent`: nothing was written since the last call. */
  beat(isSilent: boolean): void;
  /** Ends the connection when the client has read all that was written. */
  end(end: WatchEnd): void;
  destroy(): void;
  onDrain(listener: () => void): void;
  offDrain(listener: () => void): void;
}
