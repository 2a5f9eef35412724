import { stopTestDatabase } from './global-setup.mts';

export default async function globalTeardown(): Promise<void> {
  await stopTestDatabase?.();
}
