import { useMantineColorScheme } from "@mantine/core";
import { IconDeviceDesktop, IconKeyboard, IconLogout, IconMoon, IconSun, IconUserCircle } from "@tabler/icons-react";
import { signOut, useMe } from "../api/session";
import { DropDown, DropDownItem, DropDownLabel } from "../parts/DropDown";
import { toastProblem } from "../parts/toast";
import { helpOpened } from "./overlays";

/** Who is signed in, light or dark, the keys, and the way out. */
export function AccountMenu() {
  const me = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <DropDown label="Account and appearance" face={<IconUserCircle size={18} />}>
      {(close) => (
        <>
          {me && <DropDownLabel>{`${me.key} · ${me.tenant} · ${me.scopes.join(", ")}`}</DropDownLabel>}
          {SCHEMES.map(({ scheme, word, Icon }) => (
            <DropDownItem key={scheme} icon={<Icon size={16} />} chosen={colorScheme === scheme} onClick={() => setColorScheme(scheme)}>
              {word}
            </DropDownItem>
          ))}
          <DropDownItem
            icon={<IconKeyboard size={16} />}
            end={<kbd>?</kbd>}
            onClick={() => {
              close();
              helpOpened.set(true);
            }}
          >
            Keys
          </DropDownItem>
          <DropDownItem icon={<IconLogout size={16} />} onClick={() => void signOut().catch(toastProblem)}>
            Sign out
          </DropDownItem>
        </>
      )}
    </DropDown>
  );
}

const SCHEMES = [
  { scheme: "auto", word: "As the system", Icon: IconDeviceDesktop },
  { scheme: "light", word: "Light", Icon: IconSun },
  { scheme: "dark", word: "Dark", Icon: IconMoon },
] as const;
