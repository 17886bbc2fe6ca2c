import { IconWorld } from "@tabler/icons-react";
import { useState } from "react";
import { DropDown, DropDownItem } from "../parts/DropDown";
import { zoneName } from "../time/formatTime";
import { MY_ZONE, setZoneMode, useZoneMode, type ZoneMode } from "../time/zone";
import classes from "./TopBar.module.css";

/** Which zone all times are shown in. Always in sight, since a time without a zone is a guess. */
export function ZoneSwitch() {
  const mode = useZoneMode();
  const [mine] = useState(() => zoneName(new Date(), MY_ZONE));
  const words: Record<ZoneMode, string> = { mine, utc: "UTC", job: "Job’s zone" };
  const choices: [ZoneMode, string][] = [
    ["mine", `Mine: ${MY_ZONE} (${mine})`],
    ["utc", "UTC"],
    ["job", "The zone of each job"],
  ];
  const face = (
    <>
      <IconWorld size={16} aria-hidden />
      <span>{words[mode]}</span>
    </>
  );
  return (
    <DropDown label={`Time zone: ${words[mode]}`} face={face} className={classes.control}>
      {(close) =>
        choices.map(([value, label]) => (
          <DropDownItem
            key={value}
            chosen={mode === value}
            onClick={() => {
              setZoneMode(value);
              close();
            }}
          >
            {label}
          </DropDownItem>
        ))
      }
    </DropDown>
  );
}
