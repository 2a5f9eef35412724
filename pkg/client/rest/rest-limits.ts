/** Timeouts and size limits of a RestClient. Times in milliseconds, sizes in bytes. */
export interface RestLimits {
  /** Timeout until a response starts, and between two parts of it. Default 30 s. */
  answerMs: number;
  /** A watch without data for this long is dead, because the server sends a heartbeat every 15 s. Default 45 s. */
  silenceMs: number;
  /** Limit of one response. Default 64 MiB; a larger list is read in smaller chunks. */
  answerBytes: number;
  /** Limit of one event. Default 16 MiB. */
  eventBytes: number;
  /** Connections for everything but watches, which have one each; further calls wait. Default 64. */
  connections: number;
}

export const defaultRestLimits: RestLimits = {
  answerMs: 30_000,
  silenceMs: 45_000,
  answerBytes: 64 * 1024 * 1024,
  eventBytes: 16 * 1024 * 1024,
  connections: 64,
};
