/** Calls what somebody else gave us. Its error is reported as that of an event's listener is, and stops nobody else. */
export function callListener(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}
