/**
 * Why a backup or a restore failed; its message is one sentence for the user. Nothing was changed, unless it is an
 * UnansweredCommit.
 */
export class BackupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BackupError';
  }
}
