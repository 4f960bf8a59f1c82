from dvm._Dvm import *
