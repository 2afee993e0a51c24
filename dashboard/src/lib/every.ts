// What is read again although no event says that it has changed.
import { useEffect, useRef } from 'preact/hooks';

/** Runs something every few seconds while the tab is visible. */
export const useEvery = (millis: number, run: () => void): void => {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current(), millis);
    return () => clearInterval(timer);
  }, [millis]);
};
