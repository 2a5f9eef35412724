import { newLogger } from './logger.ts';
import type { LoadedOptions } from './options/load-options.ts';
import { openPlatformDatabase, openStorage } from './open-storage.ts';
import { Teardown } from './teardown.ts';

/** Brings the database's schemas up to date and ends; returns the exit code. Safe while servers run. */
export async function migrate({ options }: LoadedOptions): Promise<number> {
  const log = newLogger(options['svc.log.level']);
  const teardown = new Teardown(log);
  try {
    const database = await openPlatformDatabase(options, { log, teardown });
    await openStorage(database, options, { log, teardown });
    log.info({}, 'the database is up to date');
  } finally {
    await teardown.run();
  }
  return 0;
}
