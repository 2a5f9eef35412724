import { isFenceLost } from '#pkg/apimachinery/index';
import type { RunningPlugin } from './running-plugins.ts';
import { applyContent, type ApplyContentOptions } from './start-plugin.ts';
import { unregisterModels } from '../record/plugin-definitions.ts';

export type PluginRestoreOptions = Omit<ApplyContentOptions, 'prepared'>;

/**
 * Restores the models, presets and controllers of the running version after the start of a newer version failed.
 * Answers a message about what could not be restored; the running version continues anyway.
 * @throws PluginError if its controllers no longer run; StatusError if the fence is lost or the signal fires
 */
export async function restorePlugin(
  { worker, prepared }: RunningPlugin,
  options: PluginRestoreOptions,
): Promise<string | undefined> {
  const { record, client, signal } = options;
  const names = worker.description.models.map(({ metadata }) => metadata.name);
  const problems: string[] = [];
  for (const work of [
    () => applyContent(worker, { ...options, prepared }),
    () => unregisterModels(client, record, { except: names, signal }),
  ]) {
    try {
      await work();
    } catch (error) {
      if (signal.aborted || isFenceLost(error) || !(error instanceof Error)) throw error;
      problems.push(error.message);
    }
  }
  await worker.runControllers();
  return problems.length === 0 ? undefined : problems.join('; ');
}
