/** The memory that a read may take, per owner. Bytes of stored bodies; the maximum at a time, not a sum. */
export interface ReadBudget {
  /** The requester: one owner never gets all slots for long lists, and owners take turns at large reads. */
  readonly owner: string;
  /** Resolves when the memory is reserved. The read throws the error of a rejection. */
  admit(bytes: number): Promise<void>;
  /** Reports the bytes that the read holds now. */
  reportHeld(bytes: number): void;
}
