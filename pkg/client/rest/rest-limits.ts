/** What a RestClient waits for and takes in. Times in milliseconds, sizes in bytes. */
export interface RestLimits {
  /** For an answer to begin, and between two pieces of it. Default 30 s. */
  answerMs: number;
  /** A watch on which nothing comes for so long is dead: the server gives a sign of life every 15 s. Default 45 s. */
  silenceMs: number;
  /** Of one answer. Default 64 MiB; a list that is larger is asked for in smaller chunks. */
  answerBytes: number;
  /** Of one event. Default 16 MiB. */
  eventBytes: number;
  /** Connections for everything but watches, each of which has its own; calls beyond wait. Default 64. */
  connections: number;
}

export const defaultRestLimits: RestLimits = {
  answerMs: 30_000,
  silenceMs: 45_000,
  answerBytes: 64 * 1024 * 1024,
  eventBytes: 16 * 1024 * 1024,
  connections: 64,
};
