@echo off
rem Does what run.sh does, in cmd and PowerShell: finds a Python 3.11 or newer; src\launch.py does the rest.
setlocal
set NEW_ENOUGH=-c "import sys; sys.exit(sys.version_info < (3, 11))"
set PYTHON=python
call %PYTHON% %NEW_ENOUGH% >nul 2>nul || set PYTHON=py
call %PYTHON% %NEW_ENOUGH% >nul 2>nul || set PYTHON="%~dp0.venv\Scripts\python.exe"
call %PYTHON% %NEW_ENOUGH% >nul 2>nul || goto fetch
goto run
:fetch
where uv >nul 2>nul || goto none
uv python install --quiet 3.11 || exit /b 2
for /f "delims=" %%p in ('uv python find --system 3.11') do set PYTHON="%%p"
:run
%PYTHON% "%~dp0src\launch.py" %*
exit /b %errorlevel%
:none
echo run.bat needs Python 3.11 or newer, and found none named python or py; nor uv, which would fetch one. 1>&2
exit /b 2
