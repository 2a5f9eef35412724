/**
 * Why a backup or a restore cannot be; its message is one sentence for whoever asked for it. Nothing was changed,
 * unless it is an UnansweredCommit.
 */
export class BackupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BackupError';
  }
}
