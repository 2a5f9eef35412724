import { formatTimestamp } from '#pkg/apimachinery/index';
import type { Manager } from '#pkg/runtime/index';
import type { PluginHealth } from '../control-message.ts';
import { errorText } from '../error-text.ts';

/** Controllers that are described in full. */
const maxControllers = 5;

/**
 * Describes the state of a manager's controllers. With `hasSettled` a controller that is still starting counts as a
 * problem.
 */
export function describeHealth(
  { controllers, failures }: Pick<Manager, 'controllers' | 'failures'>,
  hasSettled: boolean,
): PluginHealth {
  const troubled = controllers.filter(
    ({ problem, state }) => problem !== undefined || (hasSettled && state === 'starting'),
  );
  return {
    ...(troubled.length === 0 ? {} : { controllers: textOf(troubled) }),
    ...(failures === undefined ? {} : { reconciles: reconcilesText(failures) }),
  };
}

function textOf(troubled: Manager['controllers']): string {
  const told = troubled
    .slice(0, maxControllers)
    .map(({ name, problem }) =>
      problem === undefined
        ? `the controller ${name} is still starting`
        : `the controller ${name} does not run: ${errorText(problem)}`,
    );
  return [...told, ...(troubled.length > told.length ? [`and ${troubled.length - told.length} more`] : [])].join('; ');
}

function reconcilesText({
  objects,
  since,
  last: { controller, request, attempt, error },
}: NonNullable<Manager['failures']>): string {
  const howMany = objects === 1 ? '1 object fails' : `${objects} objects fail`;
  return `${howMany} since ${formatTimestamp(since)}; the last is ${request}, of the controller ${controller}, at attempt ${attempt}: ${errorText(error)}`;
}
