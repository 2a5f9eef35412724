import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultPolicyText } from '#pkg/audit/index';
import { group, unauditedModel } from '../sample-post.ts';

/** The default policy, without `unauditedModel`: one server then shows what the audit of a write costs. */
export async function writeAuditPolicy(folder: string): Promise<string> {
  const file = join(folder, 'audit-policy.yaml');
  const rule = `rules:
  - level: None
    resources:
      - group: ${group}
        resources: [${unauditedModel.plural}]
`;
  await writeFile(file, defaultPolicyText.replace('rules:\n', rule));
  return file;
}
