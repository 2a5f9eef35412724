import { isFenceLost } from '#pkg/apimachinery/index';
import type { RunningPlugin } from './running-plugins.ts';
import { applyContent, type ContentOptions } from './start-plugin.ts';
import { unregisterModels } from './plugin-definitions.ts';

export type PluginRestoreOptions = Omit<ContentOptions, 'prepared'>;

/**
 * After a newer version could not be started: models, presets and controllers as the running version has them. Answers
 * what could not be made so, for people; the running one goes on all the same.
 * @throws PluginError where its controllers do not run any more; StatusError where the fence is lost or the signal
 * fires
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
