/** Timeouts and size limits of a RestClient. Times in milliseconds, sizes in bytes. */
export interface RestLimits {
  /** Timeout until a response starts, and between two parts of it. Default 30 s. */
  answerTimeoutMs: number;
  /** A watch without data for this long is dead, because the server sends a heartbeat every 15 s. Default 45 s. */
  idleTimeoutMs: number;
  /** Limit of one response. Default 64 MiB; a larger list is read in smaller chunks. */
  maxAnswerBytes: number;
  /** Limit of one event. Default 16 MiB. */
  maxEventBytes: number;
  /** Connections for everything but watches, which have one each; further calls wait. Default 64. */
  maxConnections: number;
}

export const defaultRestLimits: RestLimits = {
  answerTimeoutMs: 30_000,
  idleTimeoutMs: 45_000,
  maxAnswerBytes: 64 * 1024 * 1024,
  maxEventBytes: 16 * 1024 * 1024,
  maxConnections: 64,
};
