/**
 * The part of the process's memory that a read may take, for whoever asks. Bytes of bodies as they are stored; the most
 * at a time, not a sum.
 */
export interface ReadRoom {
  /** Who asks: one alone never has all the places for long lists, and all take turns at large reads. */
  readonly owner: string;
  /** Resolves when there is room; what it rejects with is thrown by the read. */
  admit(bytes: number): Promise<void>;
  /** Says what is there now. */
  settle(bytes: number): void;
}
