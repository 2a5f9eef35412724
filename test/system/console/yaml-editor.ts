import type { Locator, Page } from 'playwright-core';
import { expect } from '@jest/globals';

/** The editor with this label, such as `YAML of post-1`. */
export function yamlEditor(page: Page, label: string): Locator {
  return page.getByRole('textbox', { name: label });
}

/** Its text, once the editor is there: it is a part of its own, which may still be on its way. */
export async function yamlOf(page: Page, label: string): Promise<string> {
  const editor = yamlEditor(page, label);
  await editor.waitFor();
  const lines = await editor.locator('.cm-line').allInnerTexts();
  return lines.map((line) => line.replace(/\n$/, '')).join('\n');
}

/** Replaces the whole text, as a person does: by selecting everything and typing. */
export async function typeYaml(page: Page, label: string, text: string): Promise<void> {
  await yamlEditor(page, label).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text);
}

export async function replaceInYaml(page: Page, label: string, from: string, to: string): Promise<void> {
  const text = await yamlOf(page, label);
  expect(text).toContain(from);
  await typeYaml(page, label, text.replace(from, to));
}
